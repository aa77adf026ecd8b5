#include "submix/decode/gpt_bank.h"

#include <algorithm>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/decode/kernels.h"

namespace submix::decode {
namespace {

using base::Status;
using base::StatusOr;

// Rows of `count` numbers as pairs of vectors: row r's number i is at(r, i).
template <typename Stored, typename At>
AlignedBuffer StorePairs(int rows, int count, const At& at) {
  const int stride = PairsFor(count) * kPairLength;
  AlignedBuffer buffer(static_cast<std::size_t>(rows) * static_cast<std::size_t>(stride) *
                       sizeof(Stored));
  for (int r = 0; r < rows; ++r) {
    Stored* row = buffer.as<Stored>() + static_cast<std::size_t>(r) * stride;
    for (int i = 0; i < stride; ++i) {
      const int which = i % kPairLength / 16;
      row[i / kPairLength * kPairLength + static_cast<int>(PairIndex<Stored>(which, i % 16))] =
          ToStored<Stored>(i < count ? at(r, i) : 0.0f);
    }
  }
  return buffer;
}

// Fills a bank from its files; reading and packing are two steps, since packing wants to know all
// weights at once.
template <typename Stored>
class BankLoader {
 public:
  BankLoader(GptBank<Stored>& bank, ProductSet& products) : bank_(bank), products_(products) {}

  Status ReadModel(const std::string& directory) {
    SUBMIX_ASSIGN_OR_RETURN(bank_.config,
                            model::LoadGptConfig(base::JoinPath(directory, "config.json")));
    SUBMIX_ASSIGN_OR_RETURN(
        bank_.file, model::SafetensorsFile::Open(base::JoinPath(directory, "model.safetensors")));
    const model::GptConfig& config = bank_.config;
    if (bank_.file->tensors().contains("transformer.wte.weight")) prefix_ = "transformer.";
    SUBMIX_ASSIGN_OR_RETURN(bank_.token_embedding,
                            Matrix("wte.weight", config.vocab_size, config.width));
    const std::int64_t positions[] = {config.context_length, config.width};
    SUBMIX_ASSIGN_OR_RETURN(bank_.position_embedding,
                            bank_.file->Read(prefix_ + "wpe.weight", positions));
    bank_.layers.resize(static_cast<std::size_t>(config.layers));
    for (int layer = 0; layer < config.layers; ++layer) SUBMIX_RETURN_IF_ERROR(ReadLayer(layer));
    bank_.unembedding.product = products_.Get(config.width, config.vocab_size);
    weights_.push_back({bank_.unembedding.product, {bank_.token_embedding, true}});
    packed_.push_back(&bank_.unembedding.packed);
    return ReadNorm("ln_f", bank_.final_norm);
  }

  Status ReadAdapters(const BankFiles& files) {
    bank_.groups = 1 + static_cast<int>(files.adapters.size());
    bank_.rows = {files.row};
    bank_.rows.insert(bank_.rows.end(), files.adapter_rows.begin(), files.adapter_rows.end());
    for (int m = 0; m < static_cast<int>(files.adapters.size()); ++m) {
      SUBMIX_ASSIGN_OR_RETURN(
          const auto adapter,
          model::LoadLoraAdapter(files.adapters[static_cast<std::size_t>(m)], bank_.config));
      AddAdapter(adapter, m + 1);
    }
    const auto is_adapted = [](const TransformerLayer<Stored>& layer) {
      return !layer.attention_in.adapters.empty() || !layer.attention_out.adapters.empty() ||
             !layer.mlp_in.adapters.empty() || !layer.mlp_out.adapters.empty();
    };
    // Without adapters all rows of a bank are one, which needs no sharing.
    if (bank_.groups > 1) {
      bank_.first_adapted_layer =
          static_cast<int>(std::ranges::find_if(bank_.layers, is_adapted) - bank_.layers.begin());
    }
    return base::OkStatus();
  }

  void Pack(const std::string& cache_directory, WorkerTeam& team) {
    bank_.packed = PackedWeights::Load(weights_, bank_.file->path(), cache_directory, team);
    for (std::size_t i = 0; i < packed_.size(); ++i) *packed_[i] = bank_.packed.data(i);
  }

 private:
  StatusOr<std::vector<float>> ReadVector(const std::string& name, int count) const {
    const std::int64_t shape[] = {count};
    return bank_.file->Read(prefix_ + name, shape);
  }

  StatusOr<model::TensorView> Matrix(const std::string& name, int rows, int columns) const {
    const std::int64_t shape[] = {rows, columns};
    return bank_.file->Find(prefix_ + name, shape);
  }

  Status ReadNorm(const std::string& name, NormLayer& norm) const {
    SUBMIX_ASSIGN_OR_RETURN(norm.gain, ReadVector(name + ".weight", bank_.config.width));
    SUBMIX_ASSIGN_OR_RETURN(norm.shift, ReadVector(name + ".bias", bank_.config.width));
    return base::OkStatus();
  }

  Status ReadLinear(const std::string& name, int inputs, int outputs, LinearLayer<Stored>& layer) {
    SUBMIX_ASSIGN_OR_RETURN(const auto weight, Matrix(name + ".weight", inputs, outputs));
    SUBMIX_ASSIGN_OR_RETURN(layer.bias, ReadVector(name + ".bias", outputs));
    layer.product = products_.Get(inputs, outputs);
    weights_.push_back({layer.product, {weight, false}});
    packed_.push_back(&layer.packed);
    return base::OkStatus();
  }

  Status ReadLayer(int index) {
    const std::string name = "h." + std::to_string(index) + ".";
    const int width = bank_.config.width;
    TransformerLayer<Stored>& layer = bank_.layers[static_cast<std::size_t>(index)];
    SUBMIX_RETURN_IF_ERROR(ReadNorm(name + "ln_1", layer.norm_1));
    SUBMIX_RETURN_IF_ERROR(ReadNorm(name + "ln_2", layer.norm_2));
    SUBMIX_RETURN_IF_ERROR(ReadLinear(name + "attn.c_attn", width, 3 * width, layer.attention_in));
    SUBMIX_RETURN_IF_ERROR(ReadLinear(name + "attn.c_proj", width, width, layer.attention_out));
    SUBMIX_RETURN_IF_ERROR(ReadLinear(name + "mlp.c_fc", width, 4 * width, layer.mlp_in));
    return ReadLinear(name + "mlp.c_proj", 4 * width, width, layer.mlp_out);
  }

  void AddAdapter(const model::LoraAdapter& adapter, int group) {
    const int rank = adapter.config.rank;
    const auto scaling = static_cast<float>(adapter.scaling());
    bank_.most_rank = std::max(bank_.most_rank, rank);
    for (const model::LoraModule& module : adapter.modules) {
      LinearLayer<Stored>* layer = Find(module.name);
      layer->adapters.resize(static_cast<std::size_t>(bank_.groups));
      bank_.adapter_buffers.push_back(StorePairs<Stored>(rank, module.inputs, [&](int r, int i) {
        return module.a[static_cast<std::size_t>(r) * static_cast<std::size_t>(module.inputs) +
                        static_cast<std::size_t>(i)];
      }));
      const AlignedBuffer& a = bank_.adapter_buffers.back();
      AlignedBuffer b = StorePairs<Stored>(rank, module.outputs, [&](int r, int i) {
        return scaling * module.b[static_cast<std::size_t>(i) * static_cast<std::size_t>(rank) +
                                  static_cast<std::size_t>(r)];
      });
      layer->adapters[static_cast<std::size_t>(group)] = {rank, a.template as<Stored>(),
                                                          b.template as<Stored>()};
      bank_.adapter_bytes += a.size() + b.size();
      bank_.adapter_buffers.push_back(std::move(b));
    }
  }

  LinearLayer<Stored>* Find(const std::string& module_name) {
    for (int index = 0; index < bank_.config.layers; ++index) {
      TransformerLayer<Stored>& layer = bank_.layers[static_cast<std::size_t>(index)];
      const std::string name = "h." + std::to_string(index) + ".";
      if (module_name == name + "attn.c_attn") return &layer.attention_in;
      if (module_name == name + "attn.c_proj") return &layer.attention_out;
      if (module_name == name + "mlp.c_fc") return &layer.mlp_in;
      if (module_name == name + "mlp.c_proj") return &layer.mlp_out;
    }
    return nullptr;
  }

  GptBank<Stored>& bank_;
  ProductSet& products_;
  std::string prefix_;  // of tensor names: "transformer." or nothing
  std::vector<PackedWeight> weights_;
  std::vector<const std::byte**> packed_;  // where the address of each packed weight goes
};

}  // namespace

template <typename Stored>
void GptBank<Stored>::Embed(base::TokenId token, int position, float* out) const {
  const auto width = static_cast<std::size_t>(config.width);
  const std::size_t row_bytes = width * model::DtypeBytes(token_embedding.dtype);
  const auto row =
      token_embedding.bytes.subspan(static_cast<std::size_t>(token) * row_bytes, row_bytes);
  model::ConvertToFloat(token_embedding.dtype, row, std::span(out, width));
  AddInPlace(out, position_embedding.data() + static_cast<std::size_t>(position) * width,
             config.width);
}

MatrixProduct* ProductSet::Get(int inputs, int outputs) {
  for (const auto& product : products_) {
    if (product->inputs() == inputs && product->outputs() == outputs) return product.get();
  }
  products_.push_back(MakeMatrixProduct(precision_, inputs, outputs, workers_));
  return products_.back().get();
}

void ProductSet::Prepare(int rows) {
  for (const auto& product : products_) product->Prepare(rows);
}

std::size_t ProductSet::scratch_bytes(int rows) const {
  std::size_t most = 0;
  for (const auto& product : products_) most = std::max(most, product->scratch_bytes(rows));
  return most;
}

template <typename Stored>
StatusOr<GptBank<Stored>> LoadGptBank(const BankFiles& files, ProductSet& products,
                                      WorkerTeam& team) {
  GptBank<Stored> bank;
  BankLoader<Stored> loader(bank, products);
  SUBMIX_RETURN_IF_ERROR(loader.ReadModel(files.directory));
  SUBMIX_RETURN_IF_ERROR(loader.ReadAdapters(files));
  loader.Pack(files.cache_directory, team);
  return bank;
}

template struct GptBank<float>;
template struct GptBank<Bfloat16>;
template StatusOr<GptBank<float>> LoadGptBank(const BankFiles&, ProductSet&, WorkerTeam&);
template StatusOr<GptBank<Bfloat16>> LoadGptBank(const BankFiles&, ProductSet&, WorkerTeam&);

}  // namespace submix::decode

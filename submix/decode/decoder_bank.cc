#include "submix/decode/decoder_bank.h"

#include <algorithm>
#include <map>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/decode/kernels.h"
#include "submix/model/decoder_tensors.h"

namespace submix::decode {
namespace {

using base::Status;
using base::StatusOr;

template <typename Stored>
std::size_t PairBytes(int rows, int count) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(PairsFor(count)) * kPairLength *
         sizeof(Stored);
}

// Rows of `count` numbers as pairs of vectors: row r's number i is at(r, i).
template <typename Stored, typename At>
AlignedBuffer StorePairs(int rows, int count, const At& at) {
  const int stride = PairsFor(count) * kPairLength;
  AlignedBuffer buffer(PairBytes<Stored>(rows, count));
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

// A module that adapts the outputs of a product from `first_output` on.
struct StackedModule {
  const model::LoraModule* module = nullptr;
  int first_output = 0;
};

// Fills a bank from its files; reading and packing are two steps, since packing wants to know all
// weights at once.
template <typename Stored>
class BankLoader {
 public:
  BankLoader(DecoderBank<Stored>& bank, ProductSet& products) : bank_(bank), products_(products) {}

  Status ReadModel(const BankFiles& files) {
    SUBMIX_ASSIGN_OR_RETURN(
        bank_.config, model::LoadDecoderConfig(base::JoinPath(files.directory, "config.json")));
    SUBMIX_ASSIGN_OR_RETURN(bank_.files, model::WeightFiles::Open(files.directory));
    const model::DecoderConfig& config = bank_.config;
    names_ = model::NamesOf(config);
    // A GPT-2's may lie without the prefix.
    prefix_ = model::ModelPrefix(config);
    const std::string token_embedding = names_.token_embedding + ".weight";
    if (!bank_.files->contains(prefix_ + token_embedding)) prefix_.clear();
    SUBMIX_ASSIGN_OR_RETURN(bank_.token_embedding,
                            Matrix(prefix_ + token_embedding, config.vocab_size, config.width));
    if (config.has_learned_positions) {
      const std::int64_t positions[] = {config.context_length, config.width};
      SUBMIX_ASSIGN_OR_RETURN(bank_.position_embedding,
                              bank_.files->Read(prefix_ + model::kPositionEmbedding, positions));
    }
    if (!config.has_learned_positions) {
      const int width = config.width_of_head();
      bank_.frequencies.push_back(model::RotaryFrequencies(config.rotary, width));
      if (config.window > 0 && config.windowed_rotary != config.rotary) {
        bank_.frequencies.push_back(model::RotaryFrequencies(config.windowed_rotary, width));
      }
    }
    bank_.layers.resize(static_cast<std::size_t>(config.layers));
    for (int layer = 0; layer < config.layers; ++layer) SUBMIX_RETURN_IF_ERROR(ReadLayer(layer));
    SUBMIX_RETURN_IF_ERROR(ReadUnembedding(files.vocab_size));
    return ReadNorm(prefix_ + names_.final_norm, config.width, bank_.final_norm);
  }

  Status ReadAdapters(const BankFiles& files) {
    NumberRows(files);
    for (int m = 0; m < static_cast<int>(files.adapters.size()); ++m) {
      SUBMIX_ASSIGN_OR_RETURN(
          const auto adapter,
          model::LoadLoraAdapter(files.adapters[static_cast<std::size_t>(m)], bank_.config));
      AddAdapter(adapter, m + 1);
    }
    FindSharedLayers();
    return base::OkStatus();
  }

  // What ReadAdapters and Pack would take.
  Status Plan(const BankFiles& files) {
    NumberRows(files);
    for (const std::string& directory : files.adapters) {
      SUBMIX_ASSIGN_OR_RETURN(const auto adapter, model::LoadLoraShape(directory, bank_.config));
      for (const auto& [layer, modules] : Stacked(adapter)) {
        const int ranks = adapter.config.rank * static_cast<int>(modules.size());
        bank_.adapter_bytes += PairBytes<Stored>(ranks, layer->product->inputs()) +
                               PairBytes<Stored>(ranks, layer->product->outputs());
        layer->adapters.resize(bank_.rows.size());
      }
    }
    FindSharedLayers();
    for (const PackedWeight& weight : weights_) {
      bank_.weight_bytes += weight.product->packed_bytes();
    }
    return base::OkStatus();
  }

  void Pack(const std::string& cache_directory, WorkerTeam& team) {
    bank_.packed = PackedWeights::Load(weights_, bank_.files->paths(), cache_directory, team);
    for (std::size_t i = 0; i < packed_.size(); ++i) *packed_[i] = bank_.packed.data(i);
    bank_.weight_bytes = bank_.packed.bytes();
  }

 private:
  void NumberRows(const BankFiles& files) {
    bank_.rows = {files.row};
    bank_.rows.insert(bank_.rows.end(), files.adapter_rows.begin(), files.adapter_rows.end());
    bank_.groups = files.has_separate_rows ? 1 : static_cast<int>(bank_.rows.size());
  }

  void FindSharedLayers() {
    // A token of one row has nothing to share.
    if (bank_.groups == 1) return;
    const auto is_adapted = [](const TransformerLayer<Stored>& layer) {
      return !layer.attention_in.adapters.empty() || !layer.attention_out.adapters.empty() ||
             !layer.mlp_in.adapters.empty() || !layer.mlp_out.adapters.empty();
    };
    bank_.first_adapted_layer =
        static_cast<int>(std::ranges::find_if(bank_.layers, is_adapted) - bank_.layers.begin());
  }

  StatusOr<std::vector<float>> ReadVector(const std::string& name, int count) const {
    const std::int64_t shape[] = {count};
    return bank_.files->Read(name, shape);
  }

  StatusOr<model::TensorView> Matrix(const std::string& name, int rows, int columns) const {
    const std::int64_t shape[] = {rows, columns};
    return bank_.files->Find(name, shape);
  }

  // Of the tokens below `vocab_size`.
  Status ReadUnembedding(int vocab_size) {
    const model::DecoderConfig& config = bank_.config;
    model::TensorView weight = bank_.token_embedding;
    if (!config.has_tied_embeddings) {
      SUBMIX_ASSIGN_OR_RETURN(
          weight, Matrix(names_.unembedding + ".weight", config.vocab_size, config.width));
    }
    if (vocab_size > 0 && vocab_size < config.vocab_size) {
      weight.shape[0] = vocab_size;
      weight.bytes = weight.bytes.first(static_cast<std::size_t>(vocab_size) *
                                        static_cast<std::size_t>(config.width) *
                                        model::DtypeBytes(weight.dtype));
    }
    const auto outputs = static_cast<int>(weight.shape[0]);
    AddProduct(products_.GetUnembedding(config.width, outputs), {{weight}, true},
               bank_.unembedding);
    return base::OkStatus();
  }

  Status ReadNorm(const std::string& name, int width, NormLayer& norm) const {
    SUBMIX_ASSIGN_OR_RETURN(norm.gain, ReadVector(name + ".weight", width));
    if (bank_.config.norm == model::Norm::kRmsOnePlus) {
      for (float& gain : norm.gain) gain += 1;
    }
    if (bank_.config.norm != model::Norm::kLayer) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(norm.shift, ReadVector(name + ".bias", width));
    return base::OkStatus();
  }

  void AddProduct(const MatrixProduct* product, WeightSource source, LinearLayer<Stored>& layer) {
    layer.product = product;
    weights_.push_back({layer.product, std::move(source)});
    packed_.push_back(&layer.packed);
  }

  // These layers as one, their outputs one after the other.
  Status ReadLinear(const std::vector<model::LinearLayer>& stacked, bool has_bias,
                    LinearLayer<Stored>& layer) {
    const bool is_conv1d = model::HasConv1d(bank_.config);
    const int inputs = stacked.front().inputs;
    WeightSource source{{}, !is_conv1d};
    int outputs = 0;
    for (const model::LinearLayer& linear : stacked) {
      const int rows = is_conv1d ? inputs : linear.outputs;
      const int columns = is_conv1d ? linear.outputs : inputs;
      SUBMIX_ASSIGN_OR_RETURN(auto weight,
                              Matrix(prefix_ + linear.name + ".weight", rows, columns));
      source.tensors.push_back(std::move(weight));
      modules_[linear.name] = {&layer, outputs};
      outputs += linear.outputs;
      if (!has_bias) continue;
      SUBMIX_ASSIGN_OR_RETURN(const auto bias,
                              ReadVector(prefix_ + linear.name + ".bias", linear.outputs));
      layer.bias.insert(layer.bias.end(), bias.begin(), bias.end());
    }
    AddProduct(products_.Get(inputs, outputs), std::move(source), layer);
    return base::OkStatus();
  }

  Status ReadLinears(int index, TransformerLayer<Stored>& layer) {
    const model::DecoderConfig& config = bank_.config;
    const model::LayerLinears own = model::LinearsOfLayer(config, index);
    SUBMIX_RETURN_IF_ERROR(
        ReadLinear(own.attention_in, config.has_attention_in_bias, layer.attention_in));
    SUBMIX_RETURN_IF_ERROR(
        ReadLinear({own.attention_out}, config.has_attention_out_bias, layer.attention_out));
    SUBMIX_RETURN_IF_ERROR(ReadLinear(own.mlp_in, config.has_mlp_bias, layer.mlp_in));
    return ReadLinear({own.mlp_out}, config.has_mlp_bias, layer.mlp_out);
  }

  Status ReadLayer(int index) {
    const model::DecoderConfig& config = bank_.config;
    const std::string name = prefix_ + model::LayerPrefix(config, index);
    TransformerLayer<Stored>& layer = bank_.layers[static_cast<std::size_t>(index)];
    SUBMIX_RETURN_IF_ERROR(ReadNorm(name + names_.norm_1, config.width, layer.norm_1));
    SUBMIX_RETURN_IF_ERROR(ReadNorm(name + names_.norm_2, config.width, layer.norm_2));
    if (config.has_norms_after_blocks) {
      SUBMIX_RETURN_IF_ERROR(
          ReadNorm(name + model::kNormAfterAttention, config.width, layer.norm_after_attention));
      SUBMIX_RETURN_IF_ERROR(
          ReadNorm(name + model::kNormAfterMlp, config.width, layer.norm_after_mlp));
    }
    if (config.has_query_key_norms) {
      const int width = config.width_of_head();
      SUBMIX_RETURN_IF_ERROR(ReadNorm(name + model::kQueryNorm, width, layer.query_norm));
      SUBMIX_RETURN_IF_ERROR(ReadNorm(name + model::kKeyNorm, width, layer.key_norm));
    }
    return ReadLinears(index, layer);
  }

  // The modules of each layer that is one product here.
  std::map<LinearLayer<Stored>*, std::vector<StackedModule>> Stacked(
      const model::LoraAdapter& adapter) const {
    std::map<LinearLayer<Stored>*, std::vector<StackedModule>> stacked;
    for (const model::LoraModule& module : adapter.modules) {
      const auto& [layer, column] = modules_.at(module.name);
      stacked[layer].push_back({&module, column});
    }
    return stacked;
  }

  void AddAdapter(const model::LoraAdapter& adapter, int row) {
    for (const auto& [layer, modules] : Stacked(adapter)) {
      AddFactors(adapter, modules, row, *layer);
    }
  }

  // Modules of layers that are one product here become one pair of factors: their ranks one after
  // the other, B zero where a rank's module has no outputs.
  void AddFactors(const model::LoraAdapter& adapter, const std::vector<StackedModule>& modules,
                  int row, LinearLayer<Stored>& layer) {
    const auto scaling = static_cast<float>(adapter.scaling());
    const int rank = adapter.config.rank;
    const int ranks = rank * static_cast<int>(modules.size());
    bank_.most_rank = std::max(bank_.most_rank, ranks);
    const int inputs = layer.product->inputs();
    AlignedBuffer a = StorePairs<Stored>(ranks, inputs, [&](int r, int i) {
      const model::LoraModule& module = *modules[static_cast<std::size_t>(r / rank)].module;
      return module.a[static_cast<std::size_t>(r % rank) * static_cast<std::size_t>(inputs) +
                      static_cast<std::size_t>(i)];
    });
    AlignedBuffer b = StorePairs<Stored>(ranks, layer.product->outputs(), [&](int r, int i) {
      const StackedModule& stacked = modules[static_cast<std::size_t>(r / rank)];
      const int output = i - stacked.first_output;
      if (output < 0 || output >= stacked.module->outputs) return 0.0f;
      return scaling *
             stacked.module->b[static_cast<std::size_t>(output) * static_cast<std::size_t>(rank) +
                               static_cast<std::size_t>(r % rank)];
    });
    layer.adapters.resize(bank_.rows.size());
    layer.adapters[static_cast<std::size_t>(row)] = {ranks, a.template as<Stored>(),
                                                     b.template as<Stored>()};
    bank_.adapter_bytes += a.size() + b.size();
    bank_.adapter_buffers.push_back(std::move(a));
    bank_.adapter_buffers.push_back(std::move(b));
  }

  DecoderBank<Stored>& bank_;
  ProductSet& products_;
  model::DecoderNames names_;
  std::string prefix_;  // of tensor names: "transformer.", "model." or nothing
  // Where a linear layer of the model's files is: in which product, from which output on.
  std::map<std::string, std::pair<LinearLayer<Stored>*, int>> modules_;
  std::vector<PackedWeight> weights_;
  std::vector<const std::byte**> packed_;  // where the address of each packed weight goes
};

}  // namespace

template <typename Stored>
void DecoderBank<Stored>::Embed(base::TokenId token, int position, float* out) const {
  const auto width = static_cast<std::size_t>(config.width);
  const std::size_t row_bytes = width * model::DtypeBytes(token_embedding.dtype);
  const auto row =
      token_embedding.bytes.subspan(static_cast<std::size_t>(token) * row_bytes, row_bytes);
  model::ConvertToFloat(token_embedding.dtype, row, std::span(out, width));
  if (config.embedding_scale != 1) {
    const auto scale = static_cast<float>(config.embedding_scale);
    for (std::size_t i = 0; i < width; ++i) out[i] *= scale;
  }
  if (position_embedding.empty()) return;
  AddInPlace(out, position_embedding.data() + static_cast<std::size_t>(position) * width,
             config.width);
}

const MatrixProduct* ProductSet::Get(int inputs, int outputs) {
  return Get(precision_, inputs, outputs);
}

const MatrixProduct* ProductSet::GetUnembedding(int inputs, int outputs) {
  const bool is_coarse = precision_ == Precision::kInt4;
  return Get(is_coarse ? Precision::kInt8 : precision_, inputs, outputs);
}

const MatrixProduct* ProductSet::Get(Precision precision, int inputs, int outputs) {
  for (const Product& made : products_) {
    if (made.precision == precision && made.product->inputs() == inputs &&
        made.product->outputs() == outputs) {
      return made.product.get();
    }
  }
  products_.push_back({precision, MakeMatrixProduct(precision, inputs, outputs, workers_)});
  return products_.back().product.get();
}

template <typename Stored>
StatusOr<DecoderBank<Stored>> LoadDecoderBank(const BankFiles& files, ProductSet& products,
                                              WorkerTeam& team) {
  DecoderBank<Stored> bank;
  BankLoader<Stored> loader(bank, products);
  SUBMIX_RETURN_IF_ERROR(loader.ReadModel(files));
  SUBMIX_RETURN_IF_ERROR(loader.ReadAdapters(files));
  loader.Pack(files.cache_directory, team);
  return bank;
}

template <typename Stored>
StatusOr<DecoderBank<Stored>> PlanDecoderBank(const BankFiles& files, ProductSet& products) {
  DecoderBank<Stored> bank;
  BankLoader<Stored> loader(bank, products);
  SUBMIX_RETURN_IF_ERROR(loader.ReadModel(files));
  SUBMIX_RETURN_IF_ERROR(loader.Plan(files));
  return bank;
}

template struct DecoderBank<float>;
template struct DecoderBank<Bfloat16>;
template StatusOr<DecoderBank<float>> LoadDecoderBank(const BankFiles&, ProductSet&, WorkerTeam&);
template StatusOr<DecoderBank<Bfloat16>> LoadDecoderBank(const BankFiles&, ProductSet&,
                                                         WorkerTeam&);
template StatusOr<DecoderBank<float>> PlanDecoderBank(const BankFiles&, ProductSet&);
template StatusOr<DecoderBank<Bfloat16>> PlanDecoderBank(const BankFiles&, ProductSet&);

}  // namespace submix::decode

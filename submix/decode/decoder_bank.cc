#include "submix/decode/decoder_bank.h"

#include <algorithm>
#include <map>
#include <utility>

#include "submix/base/check.h"
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
    SUBMIX_ASSIGN_OR_RETURN(tensors_, model::FindTensors(config, *bank_.files));
    bank_.token_embedding = Next();
    if (config.has_learned_positions) {
      bank_.position_embedding = NextFloats();
    } else {
      const int width = config.width_of_head();
      bank_.frequencies.push_back(model::RotaryFrequencies(config.rotary, width));
      if (config.window > 0 && config.windowed_rotary != config.rotary) {
        bank_.frequencies.push_back(model::RotaryFrequencies(config.windowed_rotary, width));
      }
    }
    bank_.layers.resize(static_cast<std::size_t>(config.layers));
    for (int layer = 0; layer < config.layers; ++layer) ReadLayer(layer);
    bank_.final_norm = NextNorm();
    ReadUnembedding(files.vocab_size);
    SUBMIX_CHECK(num_read_ == tensors_.size(), "tensors are left over");
    return base::OkStatus();
  }

  // Of a plan: only what they take.
  Status ReadAdapters(const BankFiles& files, bool is_plan) {
    bank_.rows = {files.row};
    bank_.rows.insert(bank_.rows.end(), files.adapter_rows.begin(), files.adapter_rows.end());
    bank_.groups = files.has_separate_rows ? 1 : static_cast<int>(bank_.rows.size());
    for (int m = 0; m < static_cast<int>(files.adapters.size()); ++m) {
      const std::string& directory = files.adapters[static_cast<std::size_t>(m)];
      SUBMIX_ASSIGN_OR_RETURN(const auto adapter,
                              is_plan ? model::LoadLoraShape(directory, bank_.config)
                                      : model::LoadLoraAdapter(directory, bank_.config));
      for (const auto& [layer, modules] : Stacked(adapter)) {
        const int ranks = adapter.config.rank * static_cast<int>(modules.size());
        bank_.adapter_bytes += PairBytes<Stored>(ranks, layer->product->inputs()) +
                               PairBytes<Stored>(ranks, layer->product->outputs());
        layer->adapters.resize(bank_.rows.size());
        if (!is_plan) AddFactors(adapter, modules, m + 1, *layer);
      }
    }
    FindSharedLayers();
    return base::OkStatus();
  }

  Status Pack(const std::string& cache_directory, base::WorkerTeam& team) {
    const auto check = [&] { return model::CheckNumbers(bank_.config, *bank_.files); };
    SUBMIX_ASSIGN_OR_RETURN(bank_.packed, PackedWeights::Load(weights_, bank_.files->paths(),
                                                              cache_directory, check, team));
    for (std::size_t i = 0; i < packed_.size(); ++i) *packed_[i] = bank_.packed.data(i);
    return base::OkStatus();
  }

 private:
  // The tensors in turn.
  model::TensorView Next() {
    SUBMIX_CHECK(num_read_ < tensors_.size(), "a tensor is missing");
    return tensors_[num_read_++];
  }

  std::vector<float> NextFloats() { return model::ToFloats(Next()); }

  NormLayer NextNorm() {
    NormLayer norm{NextFloats(), {}};
    if (bank_.config.norm == model::Norm::kRmsOnePlus) {
      for (float& gain : norm.gain) gain += 1;
    }
    if (bank_.config.norm == model::Norm::kLayer) norm.shift = NextFloats();
    return norm;
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

  // Of the tokens below `vocab_size`.
  void ReadUnembedding(int vocab_size) {
    const model::DecoderConfig& config = bank_.config;
    model::TensorView weight = config.has_tied_embeddings ? bank_.token_embedding : Next();
    if (vocab_size > 0 && vocab_size < config.vocab_size) {
      weight.shape[0] = vocab_size;
      weight.bytes = weight.bytes.first(static_cast<std::size_t>(vocab_size) *
                                        static_cast<std::size_t>(config.width) *
                                        model::DtypeBytes(weight.dtype));
    }
    const auto outputs = static_cast<int>(weight.shape[0]);
    AddProduct(products_.GetUnembedding(config.width, outputs), {{weight}, true},
               bank_.unembedding);
  }

  void AddProduct(const MatrixProduct* product, WeightSource source, LinearLayer<Stored>& layer) {
    layer.product = product;
    bank_.weight_bytes += product->packed_bytes();
    weights_.push_back({product, std::move(source)});
    packed_.push_back(&layer.packed);
  }

  // These layers as one, their outputs one after the other.
  void ReadLinear(const std::vector<model::LinearLayer>& stacked, bool has_bias,
                  LinearLayer<Stored>& layer) {
    WeightSource source{{}, !model::HasConv1d(bank_.config)};
    int outputs = 0;
    for (const model::LinearLayer& linear : stacked) {
      source.tensors.push_back(Next());
      modules_[linear.name] = {&layer, outputs};
      outputs += linear.outputs;
      if (!has_bias) continue;
      const std::vector<float> bias = NextFloats();
      layer.bias.insert(layer.bias.end(), bias.begin(), bias.end());
    }
    AddProduct(products_.Get(stacked.front().inputs, outputs), std::move(source), layer);
  }

  void ReadLayer(int index) {
    const model::DecoderConfig& config = bank_.config;
    const model::LayerLinears own = model::LinearsOfLayer(config, index);
    TransformerLayer<Stored>& layer = bank_.layers[static_cast<std::size_t>(index)];
    layer.norm_1 = NextNorm();
    ReadLinear(own.attention_in, config.has_attention_in_bias, layer.attention_in);
    if (config.has_query_key_norms) {
      layer.query_norm = NextNorm();
      layer.key_norm = NextNorm();
    }
    ReadLinear({own.attention_out}, config.has_attention_out_bias, layer.attention_out);
    if (config.has_norms_after_blocks) layer.norm_after_attention = NextNorm();
    layer.norm_2 = NextNorm();
    ReadLinear(own.mlp_in, config.has_mlp_bias, layer.mlp_in);
    ReadLinear({own.mlp_out}, config.has_mlp_bias, layer.mlp_out);
    if (config.has_norms_after_blocks) layer.norm_after_mlp = NextNorm();
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
    layer.adapters[static_cast<std::size_t>(row)] = {ranks, a.template as<Stored>(),
                                                     b.template as<Stored>()};
    bank_.adapter_buffers.push_back(std::move(a));
    bank_.adapter_buffers.push_back(std::move(b));
  }

  DecoderBank<Stored>& bank_;
  ProductSet& products_;
  std::vector<model::TensorView> tensors_;  // all of the model, in the order of a pass
  std::size_t num_read_ = 0;
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

const MatrixProduct* ProductSet::Get(Precision precision, int inputs, int outputs) {
  std::unique_ptr<MatrixProduct>& product = products_[{precision, inputs, outputs}];
  if (product == nullptr) product = MakeMatrixProduct(precision, inputs, outputs, workers_);
  return product.get();
}

template <typename Stored>
StatusOr<DecoderBank<Stored>> LoadDecoderBank(const BankFiles& files, ProductSet& products,
                                              base::WorkerTeam* team) {
  DecoderBank<Stored> bank;
  BankLoader<Stored> loader(bank, products);
  SUBMIX_RETURN_IF_ERROR(loader.ReadModel(files));
  SUBMIX_RETURN_IF_ERROR(loader.ReadAdapters(files, /*is_plan=*/team == nullptr));
  if (team != nullptr) SUBMIX_RETURN_IF_ERROR(loader.Pack(files.cache_directory, *team));
  return bank;
}

template struct DecoderBank<float>;
template struct DecoderBank<Bfloat16>;
template StatusOr<DecoderBank<float>> LoadDecoderBank(const BankFiles&, ProductSet&,
                                                      base::WorkerTeam*);
template StatusOr<DecoderBank<Bfloat16>> LoadDecoderBank(const BankFiles&, ProductSet&,
                                                         base::WorkerTeam*);

}  // namespace submix::decode

// A model and the adapters over it, packed for decoding: rows that one pass over one set of weights
// serves. The public model and all LoRA members are one bank; a member that is a whole model is a
// bank of its own. `Stored` is what adapters are kept in: float or Bfloat16.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/decode/aligned_buffer.h"
#include "submix/decode/matrix_product.h"
#include "submix/decode/packed_weights.h"
#include "submix/model/decoder_config.h"
#include "submix/model/lora_adapter.h"
#include "submix/model/weight_files.h"

namespace submix::decode {

// One member's adapter of one linear layer: results += (x A^T) B, scaled.
template <typename Stored>
struct LowRankFactors {
  int rank = 0;               // 0: this row is not adapted here
  const Stored* a = nullptr;  // [rank, PairsFor(inputs)] pairs
  const Stored* b = nullptr;  // [rank, PairsFor(outputs)] pairs, times the scaling
};

template <typename Stored>
struct LinearLayer {
  const MatrixProduct* product = nullptr;
  const std::byte* packed = nullptr;
  std::vector<float> bias;                       // [outputs], or empty
  std::vector<LowRankFactors<Stored>> adapters;  // [rows], or empty: nothing adapted
};

struct NormLayer {
  std::vector<float> gain;   // [C], or a head's width
  std::vector<float> shift;  // [C]; empty: by the root mean square, which has none
};

template <typename Stored>
struct TransformerLayer {
  NormLayer norm_1, norm_2;
  NormLayer norm_after_attention, norm_after_mlp;  // where the model has them
  NormLayer query_norm, key_norm;                  // the same
  // attention_in gives queries, keys and values; mlp_in the gate and what it gates, or one row.
  LinearLayer<Stored> attention_in, attention_out, mlp_in, mlp_out;
};

// Immutable once loaded.
template <typename Stored>
struct DecoderBank {
  model::DecoderConfig config;
  // Rows of one token: group g is the predictor's row rows[g]. Or, where rows are separate, 1 of
  // these rows, which each token names by its index.
  int groups = 1;
  std::vector<int> rows;
  int first_adapted_layer = 0;  // below it all groups are equal and computed once
  int most_rank = 0;
  std::vector<TransformerLayer<Stored>> layers;
  NormLayer final_norm;
  LinearLayer<Stored> unembedding;  // without a bias; its outputs are the tokens that get logits

  // What the above points into.
  std::unique_ptr<model::WeightFiles> files;
  model::TensorView token_embedding;      // [V, C]
  std::vector<float> position_embedding;  // [context_length, C], or empty
  // Of rotary positions, radians a token, [width_of_head / 2] each: one set for all layers, or a
  // second one for those with a window.
  std::vector<std::vector<double>> frequencies;
  PackedWeights packed;
  std::vector<AlignedBuffer> adapter_buffers;
  std::size_t weight_bytes = 0;  // of `packed`
  std::size_t adapter_bytes = 0;

  // Which of the frequencies are a layer's.
  std::size_t FrequenciesOf(int layer) const {
    return frequencies.size() > 1 && config.is_windowed(layer) ? 1 : 0;
  }
  // out [C] = embedding of a token at a position.
  void Embed(base::TokenId token, int position, float* out) const;
};

// Products are the same for all layers and banks of one shape.
class ProductSet {
 public:
  ProductSet(Precision precision, int workers) : precision_(precision), workers_(workers) {}
  const MatrixProduct* Get(int inputs, int outputs) { return Get(precision_, inputs, outputs); }
  // With kInt4 of int8: what rounds logits weighs most, and is read once a token.
  const MatrixProduct* GetUnembedding(int inputs, int outputs) {
    return Get(precision_ == Precision::kInt4 ? Precision::kInt8 : precision_, inputs, outputs);
  }

 private:
  const MatrixProduct* Get(Precision precision, int inputs, int outputs);

  const Precision precision_;
  const int workers_;
  std::map<std::tuple<Precision, int, int>, std::unique_ptr<MatrixProduct>> products_;
};

struct BankFiles {
  std::string directory;              // config.json, model.safetensors or its shards
  int row = 0;                        // the predictor's row of the model itself
  std::vector<std::string> adapters;  // directories
  std::vector<int> adapter_rows;
  bool has_separate_rows = false;
  std::string cache_directory;  // of packed weights; empty: none
  int vocab_size = 0;           // tokens that get logits; 0 or more than the model's: all
};

// Packed by this team. Without one it is a plan, made before any weight is packed: of layers, only
// which are adapted; `packed` and the adapters are missing, but not their sizes. Errors: those of
// LoadDecoderConfig, WeightFiles and LoadLoraAdapter.
template <typename Stored>
base::StatusOr<DecoderBank<Stored>> LoadDecoderBank(const BankFiles& files, ProductSet& products,
                                                    base::WorkerTeam* team);

}  // namespace submix::decode

// The word-level LSTM language model of McMahan et al. 2018 (Appendix B), forward and backward by
// hand. A word's embedding, of norm 1, goes into an LSTM cell; the cell's output is projected to
// the width of the embedding; its inner products with all embeddings (the same ones: tied) are the
// logits. With 10,000 words, width 96 and 256 units: 11 parameter vectors, 1.35 million parameters.
//
// An embedding is its parameter row divided by the row's norm, so that the norm is 1 whatever
// clipping and noise do to the row.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "submix/base/ids.h"
#include "submix/train/kernels/parameter_vectors.h"

namespace submix::train {

struct WordLstmShape {
  int vocab_size = 0;  // V, marks included
  int width = 96;      // E, of the embedding
  int units = 256;     // H, LSTM cells
};

// embedding [V, E]; the kernels of the input, forget, output and candidate gates, [H, E + H] each
// (columns: embedding, then the cell's last output), and their biases [H]; the projection [H, E]
// and its bias [E].
ParameterVectors WordLstmVectors(const WordLstmShape& shape);

// The random start that all clients share: embeddings uniform on the sphere, kernels and projection
// uniform within sqrt(6 / (inputs + outputs)), biases 0, the forget gate's 1.
std::vector<float> InitialWordLstm(const WordLstmShape& shape, std::uint64_t seed);

// Scales every row of the embedding to norm 1, which changes no prediction and keeps steps of the
// same length from turning rows less and less. A zero row stays.
void NormaliseEmbedding(const WordLstmShape& shape, std::span<float> parameters);

// `rows` stretches of text, `steps` words each.
struct WordBatch {
  int rows = 0;
  int steps = 0;
  std::vector<base::TokenId> inputs;   // [steps, rows]; kBeginning forgets the row's past
  std::vector<base::TokenId> targets;  // [steps, rows]; negative: nothing to predict
};

// The model with its scratch and the state of the rows (c and h, carried from batch to batch). One
// thread at a time. libtorch's exceptions pass through (torch_errors.h).
class WordLstm {
 public:
  // Batches may be of up to these sizes.
  WordLstm(const WordLstmShape& shape, int most_rows, int most_steps);
  ~WordLstm();
  WordLstm(const WordLstm&) = delete;
  WordLstm& operator=(const WordLstm&) = delete;

  // Forgets the state of all rows.
  void ResetState();
  // What the next calls work with: as WordLstmVectors says. Read until the next call of this.
  void SetParameters(std::span<const float> parameters);

  // Replaces `gradient` [N] by the derivative of weight * (sum of the targets' cross-entropies);
  // within the batch, that is, as if the state before it were constant. Returns that sum, in nats.
  // Requires: ids within the vocabulary.
  double Gradient(const WordBatch& batch, float weight, std::span<float> gradient);

  // Forward only. `row_sink` gets the logits [V] of every position with a target; it may overwrite
  // them.
  void Predict(const WordBatch& batch,
               const std::function<void(base::TokenId target, std::span<float> logits)>& row_sink);

 private:
  struct Scratch;

  void Forward(const WordBatch& batch);
  void BackwardThroughTime(const WordBatch& batch);
  void CellForward(const WordBatch& batch, int step);
  void CellBackward(const WordBatch& batch, int step);

  const WordLstmShape shape_;
  const ParameterVectors vectors_;
  const std::unique_ptr<Scratch> scratch_;
};

}  // namespace submix::train

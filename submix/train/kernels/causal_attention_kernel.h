// Causal attention of one row and one attention head, forward and backward, without ever holding
// the T x T matrix of weights: four queries at a time against all keys before them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace submix::train {

// T positions of width d. q, k and v are rows `stride` floats apart, as they come out of one fused
// product; o and grad_o are rows `output_stride` apart.
struct CausalHead {
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  std::int64_t stride = 0;
  std::int64_t output_stride = 0;
  std::int64_t positions = 0;   // T
  std::int64_t head_width = 0;  // d
  float scale = 1;              // of q . k
  float soft_cap = 0;           // scores are cap tanh(score / cap); 0: as they are
  std::int64_t window = 0;      // positions that a query sees, its own included; 0: all before it
};

// Floats of scratch that forward and backward need.
std::size_t CausalForwardScratch(std::int64_t positions, std::int64_t head_width);
std::size_t CausalBackwardScratch(std::int64_t positions, std::int64_t head_width);

// o_i = sum_j softmax_j(score_ij) v_j over the j <= i that i sees, score_ij = cap(scale q_i . k_j);
// log_sums[i] = log sum_j exp(score_ij), which backward wants; may be null.
void CausalAttentionForward(const CausalHead& head, float* o, float* log_sums, float* scratch);

// Gradients of the forward pass, to rows `stride` apart. Those of keys and values are added to what
// is there if other queries share them, else written.
struct CausalHeadGrads {
  const float* o = nullptr;
  const float* log_sums = nullptr;  // [T]
  const float* grad_o = nullptr;
  float* grad_q = nullptr;
  float* grad_k = nullptr;
  float* grad_v = nullptr;
  bool adds_to_keys_and_values = false;
};
void CausalAttentionBackward(const CausalHead& head, const CausalHeadGrads& grads, float* scratch);

}  // namespace submix::train

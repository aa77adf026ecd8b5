// Differentiable products, with what belongs to them: adapters, attention, the loss.
// Internal: includes torch.
#pragma once

#include <cstdint>

#include <torch/types.h>

namespace submix::train {

// The adapters of G members to one linear layer, so that one batched product adapts all of them.
struct LoraFactors {
  at::Tensor a;  // [G, rank, inputs]
  at::Tensor b;  // [G, rank, outputs]
};

// x W + bias, W [inputs, outputs].
at::Tensor LinearRows(const at::Tensor& x, const at::Tensor& weight,
                      const c10::optional<at::Tensor>& bias);

// The same + scaling * (x A^T) B^T for the rows of G members, x [G * n, inputs], with W and bias
// frozen.
at::Tensor AdaptedLinear(const at::Tensor& x, const at::Tensor& weight,
                         const c10::optional<at::Tensor>& bias, const LoraFactors& factors,
                         double scaling);

struct AttentionShape {
  std::int64_t positions = 0;  // of a row
  std::int64_t query_heads = 0;
  std::int64_t key_value_heads = 0;  // each serves as many query heads
  float scale = 1;                   // of query . key
  float soft_cap = 0;                // cap tanh(score / cap); 0: none
  std::int64_t window = 0;           // positions that a query sees, its own included; 0: all
};
// Causal attention within each of N / positions rows: queries, keys and values of all heads side by
// side to the queries' heads, by float32 kernels.
at::Tensor CausalAttention(const at::Tensor& qkv, const AttentionShape& shape);

// The unembedding and the loss in one, a scalar: the sum of the rows' -log softmax(logits)[target],
// weighted. Logits, hidden unembedding^T, capped if soft_cap > 0, exist for a few hundred rows at a
// time and become their own gradient in place. hidden [N, C], unembedding [V, C]; targets [N]
// int64, -1 for none; row_weights [N] float32. hidden and unembedding are float32 or bfloat16.
at::Tensor UnembeddingCrossEntropy(const at::Tensor& hidden, const at::Tensor& unembedding,
                                   const at::Tensor& targets, const at::Tensor& row_weights,
                                   double soft_cap);

}  // namespace submix::train

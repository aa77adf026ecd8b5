// Differentiable operations that keep libtorch's extra passes over memory out of the training loop.
// Internal: includes torch.
#pragma once

#include <torch/types.h>

namespace submix::train {

// gelu_new of float32 or bfloat16, computed in float32.
at::Tensor Gelu(const at::Tensor& x);

// The adapters of G members to one linear layer, so that one batched product adapts all of them.
struct LoraFactors {
  at::Tensor a;  // [G, rank, inputs]
  at::Tensor b;  // [G, rank, outputs]
};

// x W + bias + scaling * (x A^T) B^T for the rows of G members, x [G * n, inputs], with W and bias
// frozen.
at::Tensor AdaptedLinear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                         const LoraFactors& factors, double scaling);

// Causal attention within each of N / positions rows: queries, keys and values of all heads
// [N, 3C] to [N, C], by float32 kernels.
at::Tensor CausalAttention(const at::Tensor& qkv, std::int64_t positions,
                           std::int64_t attention_heads);

struct CrossEntropy {
  at::Tensor total;       // scalar: sum_i weights[i] * row_losses[i]; differentiable
  at::Tensor row_losses;  // [N] float32, -log softmax(hidden unembedding^T)[target]
};
// The unembedding and the loss in one: logits exist for a few hundred rows at a time and become
// their own gradient in place. hidden [N, C], unembedding [V, C]; targets [N] int64, -1 for none;
// row_weights [N] float32. hidden and unembedding are float32 or bfloat16.
CrossEntropy UnembeddingCrossEntropy(const at::Tensor& hidden, const at::Tensor& unembedding,
                                     const at::Tensor& targets, const at::Tensor& row_weights);

}  // namespace submix::train

// The forward pass of GPT-2 for many rows and many members at once. Activations are [N, C] with
// N = G * n: the rows of member 0 first. One product with the shared weights serves all rows, one
// batched product adds every member's low-rank part. The residual stream, norms and softmax are
// float32 in every precision. Differentiable where the weights are.
// Internal: includes torch.
#pragma once

#include <functional>

#include <torch/types.h>

#include "submix/train/models/gpt_weights.h"
#include "submix/train/models/lora_stack.h"

namespace submix::train {

// From [N, 3C] (queries, keys, values of all heads) to [N, C], in the precision of its input.
using Attention = std::function<at::Tensor(const at::Tensor& qkv)>;

// Token and position embeddings, [rows * T, C]. tokens is [rows, T] int64, at positions 0 .. T-1.
at::Tensor EmbedFromStart(const GptWeights& weights, const at::Tensor& tokens);

// One transformer layer: x [N, C] float32 to the same. `adapters` may be null.
at::Tensor TransformerLayer(const GptWeights& weights, int layer, const LoraStack* adapters,
                            const Attention& attend, const at::Tensor& x);

// The last norm; what the unembedding multiplies, in its precision.
at::Tensor FinalNorm(const GptWeights& weights, const at::Tensor& x);

// Whole rows from their start: tokens [R, T] to hidden [R * T, C]. With adapters R is G times the
// rows of a member.
at::Tensor HiddenStates(const GptWeights& weights, const LoraStack* adapters,
                        const at::Tensor& tokens);

}  // namespace submix::train

// The forward pass of a decoder for many rows and many members at once. Activations are [N, C] with
// N = G * n: the rows of member 0 first. One product with the shared weights serves all rows, one
// batched product adds every member's low-rank part. The residual stream, norms, rotary positions
// and softmax are float32 in every precision. Differentiable where the weights are.
// Internal: includes torch.
#pragma once

#include <map>
#include <string>

#include <torch/types.h>

#include "submix/train/models/decoder_weights.h"
#include "submix/train/models/fused_operations.h"

namespace submix::train {

// The adapters of G members side by side.
struct LoraStack {
  double scaling = 1;
  std::map<std::string, LoraFactors> factors;  // by linear layer: "h.0.attn.c_attn"
};

// Whole rows from their start: tokens [R, T] int64 to what the unembedding multiplies, [R * T, C],
// in its precision. With adapters R is G times the rows of a member.
at::Tensor HiddenStates(const DecoderWeights& weights, const LoraStack& adapters,
                        const at::Tensor& tokens);

// The same in two steps: the residual stream as layer `layer` reads it, float32 [R * T, C], with no
// adapter below and not differentiable; and from such `states` of rows of `positions` tokens on.
at::Tensor StatesBelow(const DecoderWeights& weights, int layer, const at::Tensor& tokens);
at::Tensor HiddenStatesFrom(const DecoderWeights& weights, const LoraStack& adapters, int layer,
                            const at::Tensor& states, std::int64_t positions);

// Cosines of each position's angles, then their sines, [positions, width_of_head] float32.
at::Tensor RotaryTurns(const model::Rotary& rotary, int head_width, std::int64_t positions);

}  // namespace submix::train

// Differentiable operations that go over the rows of activations once, forward and backward. They
// read float32 or bfloat16, count in float32 and round what they write. Tensors are contiguous.
// Internal: includes torch.
#pragma once

#include <torch/types.h>

namespace submix::train {

// gelu_new(x) or silu(x), times `factor` if there is one, of x's shape and type.
enum class RowActivation { kGelu, kSilu };
at::Tensor Activate(RowActivation activation, const at::Tensor& x,
                    const c10::optional<at::Tensor>& factor);

struct NormWeights {
  at::Tensor gain;                       // [C] float32
  c10::optional<at::Tensor> shift = {};  // the same
  double epsilon = 0;
  bool centres = false;  // layer norm; else by the root mean square alone
};
// The norms of x [..., C], in `type`.
at::Tensor NormRows(const at::Tensor& x, const NormWeights& weights, at::ScalarType type);

// x + y, float32 as x is, and NormRows of that.
struct SumAndNorm {
  at::Tensor sum;
  at::Tensor normed;
};
SumAndNorm AddAndNormRows(const at::Tensor& x, const at::Tensor& y, const NormWeights& weights,
                          at::ScalarType type);

// Queries, keys and values of all heads, [N, some heads], side by side in float32; the heads of
// queries and keys are turned to their row's position: element i of a head's first half with
// element i of its second half. turns [positions, head width]: cosines, then sines; none: as they
// are.
at::Tensor JoinHeads(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                     const c10::optional<at::Tensor>& turns);

}  // namespace submix::train

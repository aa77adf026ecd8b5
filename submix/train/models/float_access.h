// The numbers of tensors in float32 or bfloat16, as floats. Tensors are contiguous.
// Internal: includes torch.
#pragma once

#include <algorithm>
#include <cstdint>

#include <torch/types.h>

#include "submix/train/kernels/fused_kernels.h"

namespace submix::train {

inline std::uint16_t* Halves(const at::Tensor& x) {
  return reinterpret_cast<std::uint16_t*>(x.data_ptr<at::BFloat16>());
}

inline void ReadFloats(const at::Tensor& x, std::int64_t begin, std::int64_t count, float* floats) {
  if (x.scalar_type() == torch::kFloat) {
    std::copy_n(x.data_ptr<float>() + begin, count, floats);
  } else {
    FloatsOfBfloat16(Halves(x) + begin, floats, count);
  }
}

inline void WriteFloats(const float* floats, std::int64_t begin, std::int64_t count,
                        const at::Tensor& y) {
  if (y.scalar_type() == torch::kFloat) {
    std::copy_n(floats, count, y.data_ptr<float>() + begin);
  } else {
    Bfloat16OfFloats(floats, Halves(y) + begin, count);
  }
}

// Where the same floats are to be read, `buffer` if they must be widened.
inline const float* FloatsOrWidened(const at::Tensor& x, std::int64_t begin, std::int64_t count,
                                    float* buffer) {
  if (x.scalar_type() == torch::kFloat) return x.data_ptr<float>() + begin;
  FloatsOfBfloat16(Halves(x) + begin, buffer, count);
  return buffer;
}

}  // namespace submix::train

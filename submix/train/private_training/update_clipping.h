// How a user's update is kept within norm S (McMahan et al. 2018, Section 2). Torch-free.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "submix/train/numerics/parameter_vectors.h"

namespace submix::train {

struct UpdateClipping {
  double norm = std::numeric_limits<double>::infinity();  // S; infinity: no clipping
  // false: the whole update is scaled to S (flat). true: each of the m parameter vectors is scaled
  // to S / sqrt(m), so that the whole again has norm S at most.
  bool per_layer = false;

  bool operator==(const UpdateClipping&) const = default;
};

// By how much each vector must be multiplied, from the vectors' norms: at most 1. The norm that is
// left stays a millionth below the bound, more than all roundings of float32 add. A vector whose
// norm is not finite makes all factors 0, whether or not there is a bound.
std::vector<double> ClippingFactors(const UpdateClipping& clipping, std::span<const double> norms);

// L2 norms of the vectors, summed in double: relative error below 1e-9.
std::vector<double> VectorNorms(const ParameterVectors& vectors, std::span<const float> update);

}  // namespace submix::train

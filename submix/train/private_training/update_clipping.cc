#include "submix/train/private_training/update_clipping.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"
#include "submix/train/numerics/adamw.h"

namespace submix::train {
namespace {

constexpr double kMargin = 1e-6;

}  // namespace

std::vector<double> ClippingFactors(const UpdateClipping& clipping, std::span<const double> norms) {
  SUBMIX_CHECK(clipping.norm > 0, "a clipping norm out of range");
  std::vector<double> factors(norms.size(), 1.0);
  double squares = 0;
  for (const double norm : norms) squares += norm * norm;
  if (!std::isfinite(squares)) {
    std::ranges::fill(factors, 0.0);
    return factors;
  }
  const double whole = clipping.norm * (1 - kMargin);
  if (!clipping.per_layer) {
    const double norm = std::sqrt(squares);
    if (norm > whole) std::ranges::fill(factors, whole / norm);
    return factors;
  }
  const double of_each = whole / std::sqrt(static_cast<double>(norms.size()));
  for (std::size_t v = 0; v < norms.size(); ++v) {
    if (norms[v] > of_each) factors[v] = of_each / norms[v];
  }
  return factors;
}

std::vector<double> VectorNorms(const ParameterVectors& vectors, std::span<const float> update) {
  std::vector<double> norms;
  for (const ParameterVector& vector : vectors) {
    norms.push_back(GradientNorm(update.subspan(vector.begin, vector.size())));
  }
  return norms;
}

}  // namespace submix::train

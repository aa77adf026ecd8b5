#include "submix/train/numerics/flat_parameters.h"

#include <utility>

#include <torch/csrc/autograd/autograd.h>

namespace submix::train {

FlatParameters::FlatParameters(int groups, ParameterVectors vectors)
    : groups_(groups),
      vectors_(std::move(vectors)),
      values_(torch::zeros({groups_, static_cast<std::int64_t>(size())})),
      gradients_(torch::zeros_like(values_)) {
  for (const ParameterVector& vector : vectors_) {
    std::vector<std::int64_t> shape = {groups_};
    shape.insert(shape.end(), vector.shape.begin(), vector.shape.end());
    const auto begin = static_cast<std::int64_t>(vector.begin);
    const auto count = static_cast<std::int64_t>(vector.size());
    at::Tensor leaf = values_.narrow(1, begin, count).view(shape).detach();
    leaf.set_requires_grad(true);
    leaves_.push_back(leaf);
    leaf_gradients_.push_back(gradients_.narrow(1, begin, count).view(shape));
  }
}

void FlatParameters::Differentiate(const at::Tensor& loss) {
  const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, leaves_);
  for (std::size_t i = 0; i < gradients.size(); ++i) leaf_gradients_[i].copy_(gradients[i]);
}

std::span<float> FlatParameters::values(int group) {
  return {values_.data_ptr<float>() + static_cast<std::size_t>(group) * size(), size()};
}

std::span<float> FlatParameters::values(int group, std::size_t vector) {
  return values(group).subspan(vectors_[vector].begin, vectors_[vector].size());
}

std::span<const float> FlatParameters::gradients(int group) const {
  return {gradients_.data_ptr<float>() + static_cast<std::size_t>(group) * size(), size()};
}

}  // namespace submix::train

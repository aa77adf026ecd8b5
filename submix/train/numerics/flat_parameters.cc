#include "submix/train/numerics/flat_parameters.h"

#include <functional>
#include <numeric>

#include <torch/csrc/autograd/autograd.h>

namespace submix::train {

FlatParameters::FlatParameters(int groups, std::vector<Spec> specs)
    : groups_(groups), specs_(std::move(specs)) {
  for (const Spec& spec : specs_) {
    const auto count = static_cast<std::size_t>(std::accumulate(
        spec.shape.begin(), spec.shape.end(), std::int64_t{1}, std::multiplies<>()));
    ranges_.push_back({size_, size_ + count, spec.decays});
    size_ += count;
  }
  values_ = torch::zeros({groups_, static_cast<std::int64_t>(size_)});
  gradients_ = torch::zeros_like(values_);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    std::vector<std::int64_t> shape = {groups_};
    shape.insert(shape.end(), specs_[i].shape.begin(), specs_[i].shape.end());
    const auto begin = static_cast<std::int64_t>(ranges_[i].begin);
    const auto count = static_cast<std::int64_t>(ranges_[i].end) - begin;
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
  return {values_.data_ptr<float>() + static_cast<std::size_t>(group) * size_, size_};
}

std::span<float> FlatParameters::values(int group, std::size_t spec) {
  return values(group).subspan(ranges_[spec].begin, ranges_[spec].end - ranges_[spec].begin);
}

std::span<const float> FlatParameters::gradients(int group) const {
  return {gradients_.data_ptr<float>() + static_cast<std::size_t>(group) * size_, size_};
}

}  // namespace submix::train

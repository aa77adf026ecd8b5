// Trainable parameters of G members in one flat array a member: the optimiser, clipping and
// checkpoints see plain spans, autograd sees tensors that are views of them.
// Internal: includes torch.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <torch/types.h>

#include "submix/train/numerics/adamw.h"

namespace submix::train {

class FlatParameters {
 public:
  struct Spec {
    std::string name;
    std::vector<std::int64_t> shape;
    bool decays = true;  // weight decay acts on it
  };

  FlatParameters(int groups, std::vector<Spec> specs);

  int groups() const { return groups_; }
  std::size_t size() const { return size_; }  // N, parameters of one member
  const std::vector<Spec>& specs() const { return specs_; }
  const std::vector<ParameterRange>& ranges() const { return ranges_; }  // one a spec

  std::span<float> values(int group);                    // [N]
  std::span<float> values(int group, std::size_t spec);  // [product of shape]
  std::span<const float> gradients(int group) const;     // [N]

  // The parameter of all groups, [G, shape...].
  const at::Tensor& leaf(std::size_t spec) const { return leaves_[spec]; }
  // Replaces gradients() by the derivatives of `loss`, a scalar that hangs on every leaf.
  void Differentiate(const at::Tensor& loss);

 private:
  const int groups_;
  const std::vector<Spec> specs_;
  std::vector<ParameterRange> ranges_;
  std::size_t size_ = 0;
  at::Tensor values_;                       // [G, N]
  at::Tensor gradients_;                    // [G, N]
  std::vector<at::Tensor> leaves_;          // views of values_
  std::vector<at::Tensor> leaf_gradients_;  // views of gradients_
};

}  // namespace submix::train

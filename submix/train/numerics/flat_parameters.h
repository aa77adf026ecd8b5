// Trainable parameters of G members in one flat array a member: the optimiser, clipping and
// checkpoints see plain spans, autograd sees tensors that are views of them.
// Internal: includes torch.
#pragma once

#include <span>
#include <vector>

#include <torch/types.h>

#include "submix/train/kernels/parameter_vectors.h"

namespace submix::train {

class FlatParameters {
 public:
  // `vectors` of each member; at zero.
  FlatParameters(int groups, ParameterVectors vectors);

  int groups() const { return groups_; }
  std::size_t size() const { return vectors_.back().end; }  // N, parameters of one member
  const ParameterVectors& vectors() const { return vectors_; }

  std::span<float> values(int group);                      // [N]
  std::span<float> values(int group, std::size_t vector);  // [product of shape]
  std::span<const float> gradients(int group) const;       // [N]

  // The vector of all groups, [G, shape...].
  const at::Tensor& leaf(std::size_t vector) const { return leaves_[vector]; }
  // Replaces gradients() by the derivatives of `loss`, a scalar that hangs on every leaf.
  void Differentiate(const at::Tensor& loss);

 private:
  const int groups_;
  const ParameterVectors vectors_;
  at::Tensor values_;                       // [G, N]
  at::Tensor gradients_;                    // [G, N]
  std::vector<at::Tensor> leaves_;          // views of values_
  std::vector<at::Tensor> leaf_gradients_;  // views of gradients_
};

}  // namespace submix::train

// Keys and values of one sequence for all models of one bank: [groups, capacity, C] a layer, grown
// by doubling, float32.
// Internal: includes torch.
#pragma once

#include <vector>

#include <torch/types.h>

#include "submix/train/models/model_bank.h"

namespace submix::train {

// One thread at a time.
class KeyValueCache {
 public:
  explicit KeyValueCache(const ModelBank& bank);

  std::int64_t length() const { return length_; }
  // Makes room for `count` more positions.
  void Reserve(std::int64_t count);
  // Writes keys and values of `count` new positions of a layer: qkv is [groups, count, 3C], and
  // attends from its queries to everything up to themselves; out is [groups, count, C]. Both
  // float32, rows `qkv_stride` and `out_stride` groups apart. Requires: Reserve.
  struct NewPositions {
    const float* qkv = nullptr;  // [groups, count, 3C]
    float* out = nullptr;        // [groups, count, C]
    std::int64_t count = 0;
    std::int64_t group_positions = 0;  // positions between the groups of qkv and out
  };
  void Attend(int layer, const NewPositions& positions);
  // The new positions are part of the sequence from now on.
  void Commit(std::int64_t count) { length_ += count; }

 private:
  struct Layer {
    at::Tensor keys;    // [groups, capacity, C]
    at::Tensor values;  // [groups, capacity, C]
  };

  const std::int64_t width_;
  const std::int64_t attention_heads_;
  const std::int64_t most_;  // context length
  std::int64_t length_ = 0;
  std::int64_t capacity_ = 0;
  std::vector<Layer> layers_;
};

}  // namespace submix::train

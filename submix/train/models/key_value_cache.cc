#include "submix/train/models/key_value_cache.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <ATen/Parallel.h>

#include "submix/base/check.h"
#include "submix/train/numerics/fused_kernels.h"

namespace submix::train {
namespace {

constexpr std::int64_t kFirstCapacity = 64;

at::Tensor Grown(const at::Tensor& old, std::int64_t length, std::int64_t capacity) {
  at::Tensor grown = at::empty({old.size(0), capacity, old.size(2)}, old.options());
  grown.narrow(1, 0, length).copy_(old.narrow(1, 0, length));
  return grown;
}

}  // namespace

KeyValueCache::KeyValueCache(const ModelBank& bank)
    : width_(bank.weights.config.width),
      attention_heads_(bank.weights.config.attention_heads),
      most_(bank.weights.config.context_length) {
  for (int layer = 0; layer < bank.weights.config.layers; ++layer) {
    const at::Tensor none = torch::empty({bank.GroupsAt(layer), 0, width_});
    layers_.push_back({none, none});
  }
}

void KeyValueCache::Reserve(std::int64_t count) {
  if (length_ + count <= capacity_) return;
  capacity_ = std::min(most_, std::max({2 * capacity_, kFirstCapacity, length_ + count}));
  SUBMIX_CHECK(length_ + count <= capacity_, "more positions than the context holds");
  for (Layer& layer : layers_) {
    layer.keys = Grown(layer.keys, length_, capacity_);
    layer.values = Grown(layer.values, length_, capacity_);
  }
}

void KeyValueCache::Attend(int layer, const NewPositions& positions) {
  Layer& cache = layers_[static_cast<std::size_t>(layer)];
  const std::int64_t groups = cache.keys.size(0);
  const std::int64_t head_width = width_ / attention_heads_;
  float* keys = cache.keys.data_ptr<float>();
  float* values = cache.values.data_ptr<float>();
  const auto row_bytes = static_cast<std::size_t>(width_) * sizeof(float);
  at::parallel_for(0, groups, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> scores(static_cast<std::size_t>(length_ + positions.count));
    for (std::int64_t group = begin; group < end; ++group) {
      const float* qkv = positions.qkv + group * positions.group_positions * 3 * width_;
      float* out = positions.out + group * positions.group_positions * width_;
      float* group_keys = keys + group * capacity_ * width_;
      float* group_values = values + group * capacity_ * width_;
      for (std::int64_t i = 0; i < positions.count; ++i) {
        const float* row = qkv + i * 3 * width_;
        std::memcpy(group_keys + (length_ + i) * width_, row + width_, row_bytes);
        std::memcpy(group_values + (length_ + i) * width_, row + 2 * width_, row_bytes);
        for (std::int64_t head = 0; head < attention_heads_; ++head) {
          const std::int64_t offset = head * head_width;
          AttendCached({.q = row + offset,
                        .k = group_keys + offset,
                        .v = group_values + offset,
                        .stride = width_,
                        .length = length_ + i + 1,
                        .head_width = head_width},
                       scores.data(), out + i * width_ + offset);
        }
      }
    }
  });
}

}  // namespace submix::train

// Keys and values of sequences in pages of 16 tokens. One slab holds a page of every layer, row and
// head of a sequence, so that a sequence of n tokens has ceil(n / 16) slabs, and memory is what
// slab_bytes says, whatever the rows do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "submix/decode/aligned_buffer.h"
#include "submix/decode/kernels.h"

namespace submix::decode {

// Where the pages of one bank of rows lie in a slab: the layers that all rows share have one page a
// head, those above one a row and head.
struct SlabLayout {
  HeadPage shape;
  std::size_t number_bytes = 0;  // of one stored number; 1: in bytes, with scales
  int heads = 0;
  int shared_layers = 0;
  int groups = 1;  // rows of the layers above
  int layers = 0;
  std::size_t begin = 0;  // bytes before this bank's pages
  // Layer after layer in the same pages, for what is never looked at again (scoring).
  bool has_one_layer = false;

  std::size_t head_bytes() const { return shape.bytes(number_bytes); }
  std::size_t Offset(int layer, int group, int head) const {
    int place = 0;  // in heads
    if (has_one_layer) {
      place = group * heads;
    } else if (layer < shared_layers) {
      place = layer * heads;
    } else {
      place = (shared_layers + (layer - shared_layers) * groups + group) * heads;
    }
    return begin + static_cast<std::size_t>(place + head) * head_bytes();
  }
  std::size_t bytes() const {
    const int heads_in_all =
        heads * (has_one_layer ? groups : shared_layers + (layers - shared_layers) * groups);
    return static_cast<std::size_t>(heads_in_all) * head_bytes();
  }
};

// Slabs of one size, each of one sequence or shared by several, used again once they are free. Its
// memory is the most that was in use at once.
class SlabPool {
 public:
  explicit SlabPool(std::size_t slab_bytes) : slab_bytes_(slab_bytes) {}

  std::size_t slab_bytes() const { return slab_bytes_; }
  // For one user.
  std::byte* Take() {
    if (free_.empty()) {
      slabs_.push_back(AlignedBuffer(kHeaderBytes + slab_bytes_));
      free_.reserve(slabs_.size());
      free_.push_back(slabs_.back().data() + kHeaderBytes);
    }
    std::byte* slab = free_.back();
    free_.pop_back();
    Users(slab) = 1;
    return slab;
  }
  // For one more.
  void Share(std::byte* slab) { ++Users(slab); }
  // By one of them.
  void Return(std::byte* slab) {
    if (--Users(slab) == 0) free_.push_back(slab);
  }

 private:
  // Before each slab: how many use it.
  static constexpr std::size_t kHeaderBytes = 64;
  static std::uint32_t& Users(std::byte* slab) {
    return *reinterpret_cast<std::uint32_t*>(slab - kHeaderBytes);
  }

  const std::size_t slab_bytes_;
  std::vector<AlignedBuffer> slabs_;
  std::vector<std::byte*> free_;
};

}  // namespace submix::decode

// What the layers below a member's lowest adapter say of each block of its text, kept between the
// passes over it. They never change, so that a later pass starts where they end. It lies in a
// scratch file without a name, open to its owner alone, which ends with this object and with the
// process, however that ends. What is not kept (beyond the bound, on a disk that is nearly full,
// where no file can be made) is computed again, to the same bits. Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "submix/train/recipes/training_options.h"

namespace submix::train {

// Several threads at a time, for different blocks.
class FrozenStates {
 public:
  // For `blocks` blocks, each of at most `state_bytes` > 0, the first of them that the bounds
  // allow, in a directory that exists.
  FrozenStates(const std::string& directory, std::size_t blocks, std::size_t state_bytes,
               const FrozenStatesBounds& bounds = {});
  ~FrozenStates();
  FrozenStates(const FrozenStates&) = delete;
  FrozenStates& operator=(const FrozenStates&) = delete;

  // Fills `state` with what was kept of the block, if that was as long; false: it was not, and
  // `state` may hold anything. Requires: block < blocks.
  bool Read(std::size_t block, std::span<std::byte> state) const;
  // Keeps it where it can. Requires: block < blocks, state.size() <= state_bytes.
  void Keep(std::size_t block, std::span<const std::byte> state);

 private:
  bool HasRoom(std::size_t block) const;

  const std::size_t state_bytes_;
  const FrozenStatesBounds bounds_;
  const int descriptor_;           // -1: none
  std::vector<std::size_t> kept_;  // bytes by block; 0: nothing
};

}  // namespace submix::train

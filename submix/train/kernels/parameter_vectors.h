// The named parameter vectors of a model (its "layers") in one flat array: what optimiser,
// clipping, noise and checkpoints see of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace submix::train {

struct ParameterVector {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t begin = 0;  // in the flat array
  std::size_t end = 0;
  bool decays = true;  // weight decay acts on it

  std::size_t size() const { return end - begin; }
};

// One behind the other, in this order. The last one's end is the number of parameters.
using ParameterVectors = std::vector<ParameterVector>;

// Appends a vector of this shape.
inline void AppendVector(ParameterVectors& vectors, std::string name,
                         std::vector<std::int64_t> shape, bool decays = true) {
  const std::size_t begin = vectors.empty() ? 0 : vectors.back().end;
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  vectors.push_back({std::move(name), std::move(shape), begin, begin + size, decays});
}

}  // namespace submix::train

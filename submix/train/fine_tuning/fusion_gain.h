// What fusing brings in fine-tuning: the fused operations, forward and backward, against the same
// mathematics in libtorch's operations. For benchmarks. Torch-free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace submix::train {

// Of a batch. `positions` divides `rows`, `heads` divides `width`; all positive.
struct FusionShape {
  std::int64_t rows = 1024;
  std::int64_t positions = 128;
  std::int64_t width = 256;
  std::int64_t heads = 4;
  std::int64_t vocabulary = 8192;
};

struct OperationTimes {
  std::string operation;
  double plain_seconds = 0;  // medians
  double fused_seconds = 0;
};

// Runs both in turns, `runs` >= 1 times each, by as many threads as SetTorchThreads says, on random
// numbers.
std::vector<OperationTimes> MeasureFusion(const FusionShape& shape, int runs);

}  // namespace submix::train

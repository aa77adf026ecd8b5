// The Predictor by libtorch: the public model and all members in one batch over one pass of the
// public weights; adapters are applied by batched low-rank products. Works for any length and any
// mixture of members. Torch-free header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/train/numerics/precision.h"

namespace submix::train {

struct TorchPredictorOptions {
  std::string public_directory;  // Hugging Face's layout
  // Member m is member_directories[m]: a PEFT adapter, or a whole model of the public model's
  // shape.
  std::vector<std::string> member_directories;
  Precision precision = Precision::kFloat32;  // logits come from float32 products in both
  int threads = 0;                            // 0: all processors
  // Score runs this many members times positions at a time: bounds its memory.
  std::int64_t score_tokens_at_a_time = 8192;
};

class TorchPredictor : public ensemble::Predictor {
 public:
  // Errors: those of LoadGptConfig, SafetensorsFile::Open and LoadLoraAdapter; kFailedPrecondition
  // for a whole model of another shape than the public one; kInvalidArgument for options out of
  // range.
  static base::StatusOr<std::unique_ptr<ensemble::Predictor>> Load(
      const TorchPredictorOptions& options);
};

}  // namespace submix::train

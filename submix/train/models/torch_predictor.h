// The Predictor by libtorch's plain operations: the reference that faster predictors are held to.
// Every model computes every position of a sequence anew in every step, so it is slow. Torch-free
// header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/train/recipes/precision.h"

namespace submix::train {

struct TorchPredictorOptions {
  std::string public_directory;  // Hugging Face's layout
  // Member m is member_directories[m]: a PEFT adapter, or a whole model of the public model's
  // shape.
  std::vector<std::string> member_directories;
  int vocab_size = 0;                         // as decode::CpuPredictorOptions has it
  Precision precision = Precision::kFloat32;  // logits come from float32 products in both
  int threads = 0;                            // 0: all processors
};

class TorchPredictor : public ensemble::Predictor {
 public:
  // Errors: those of LoadDecoderConfig, SafetensorsFile::Open and LoadLoraAdapter;
  // kFailedPrecondition for a whole model of another shape than the public one; kInvalidArgument
  // for options out of range.
  static base::StatusOr<std::unique_ptr<ensemble::Predictor>> Load(
      const TorchPredictorOptions& options);
};

}  // namespace submix::train

#include "submix/train/models/torch_predictor.h"
#include "tests/predictors/tested_predictor.h"

namespace submix {

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTestedPredictor(
    const PredictorFiles& files) {
  train::TorchPredictorOptions options;
  options.public_directory = files.public_directory;
  options.member_directories = files.member_directories;
  options.threads = 1;
  return train::TorchPredictor::Load(options);
}

}  // namespace submix

#include "submix/decode/cpu_predictor.h"
#include "tests/predictors/tested_predictor.h"

namespace submix {

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTestedPredictor(
    const PredictorFiles& files) {
  decode::CpuPredictorOptions options;
  options.public_directory = files.public_directory;
  options.member_directories = files.member_directories;
  options.precision = decode::Precision::kFloat32;
  options.threads = 2;
  options.rows_at_a_time = files.rows_at_a_time;
  SUBMIX_ASSIGN_OR_RETURN(auto predictor, decode::CpuPredictor::Load(options));
  return std::unique_ptr<ensemble::Predictor>(std::move(predictor));
}

}  // namespace submix

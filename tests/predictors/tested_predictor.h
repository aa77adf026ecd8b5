// The predictor that predictor_contract_test.cc is linked with, in float32.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"

namespace submix {

struct PredictorFiles {
  std::string public_directory;
  std::vector<std::string> member_directories = {};
  int rows_at_a_time = 4096;  // of long prompts and documents
};

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTestedPredictor(
    const PredictorFiles& files);

}  // namespace submix

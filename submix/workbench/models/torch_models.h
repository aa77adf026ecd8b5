// The models by libtorch, which one of the programs has: each program defines this function.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

// As LoadPredictor, whose "torch" it is. Errors: kUnimplemented where there is no libtorch, and for
// precisions that it has not; those of reading the models.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTorchPredictor(
    const ModelOptions& options, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size);

}  // namespace submix::workbench

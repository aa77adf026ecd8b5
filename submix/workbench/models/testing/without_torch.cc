// Test programs have no libtorch.
#include "submix/workbench/models/torch_models.h"

namespace submix::workbench {

base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTorchPredictor(
    const ModelOptions&, const std::string&, const std::vector<std::string>&, int) {
  return base::UnimplementedError("no libtorch here");
}

}  // namespace submix::workbench

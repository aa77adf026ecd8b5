#include "submix/train/recipes/fine_tune_options.h"

#include "submix/train/recipes/training_options_table.h"

namespace submix::train {

base::Status CheckFineTuneOptions(const FineTuneOptions& options,
                                  const model::DecoderConfig& config) {
  SUBMIX_RETURN_IF_ERROR(CheckNumbers(options, config));
  return CheckAdapterOptions(options.lora, config);
}

}  // namespace submix::train

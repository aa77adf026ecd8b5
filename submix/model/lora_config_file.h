// adapter_config.json, as PEFT's LoraConfig writes it.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/model/lora_adapter.h"

namespace submix::model {

// Errors: kNotFound; kInvalidArgument naming file and field for what is not LoRA as `LoraConfig`
// describes it: a field that would change the result, known or unknown, is refused unless it is
// off; kUnimplemented for target_modules given as a regular expression.
base::StatusOr<LoraConfig> LoadLoraConfig(const std::string& path);
// With every field that decides the result, so that no version of PEFT falls back on a default.
base::Status SaveLoraConfig(const LoraConfig& config, const std::string& path);

}  // namespace submix::model

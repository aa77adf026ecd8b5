// Which parameters a member's training moves, as a user says it. Torch-free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/model/lora_adapter.h"

namespace submix::train {

// Empty: nobody said.
struct AdapterChoice {
  bool full = false;  // all weights, no adapter
  std::optional<int> rank = {};
  std::optional<double> lora_alpha = {};
  std::vector<std::string> targets = {};
  std::optional<int> top_layers = {};  // of the last so many layers alone; 0: all
};

// What nobody says is the recipe's; so is without an alpha the scaling, whatever the rank. None:
// all weights. `layers` is the public model's number of layers. Errors: kInvalidArgument.
base::StatusOr<std::optional<model::LoraConfig>> AdapterOf(const AdapterChoice& choice,
                                                           const model::LoraConfig& recipe,
                                                           int layers);

}  // namespace submix::train

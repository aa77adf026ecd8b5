// A trained member as a whole model that stands alone: its adapter merged into the public weights.
// Torch-free header.
// Internal.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::train {

// Writes config.json and model.safetensors (float32) into `directory`, which exists. The member is
// a PEFT adapter of the public model or a whole model. Errors: those of reading both and of
// writing.
base::Status WriteMergedModel(const std::string& public_directory,
                              const std::string& member_directory, const std::string& directory);

// What may leave of a private training: an ensemble directory whose public model is the trained one
// with private_training.json beside it, and whose one member adapts nothing. `manifest` is of one
// part; its hyper-parameters and key id are taken over. Built beside its place and renamed;
// replaces what is there. Errors: those of reading and writing.
base::Status WriteReleasedEnsemble(const std::string& public_directory,
                                   const std::string& member_directory, ensemble::Manifest manifest,
                                   const std::string& cost_json, const std::string& directory);

// A PEFT adapter of the model that changes nothing, for an ensemble that has a part but no private
// member.
base::Status WriteNullAdapter(const std::string& public_directory, const std::string& directory);

}  // namespace submix::train

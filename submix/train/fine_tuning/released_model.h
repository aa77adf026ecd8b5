// What may leave of a private training. Torch-free header.
// Internal.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::train {

// An ensemble directory whose public model is the trained one (the member's adapter merged into the
// public weights, or the member itself where it is a whole model), with private_training.json
// beside it, and whose one member adapts nothing. `manifest` is of one part; its hyper-parameters
// and key id are taken over. Built beside its place and renamed; replaces what is there. Errors:
// those of reading and writing.
base::Status WriteReleasedEnsemble(const std::string& public_directory,
                                   const std::string& member_directory, ensemble::Manifest manifest,
                                   const std::string& cost_json, const std::string& directory);

}  // namespace submix::train

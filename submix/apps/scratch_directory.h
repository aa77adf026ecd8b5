// A directory to work in that goes with its last user, whatever comes.
#pragma once

#include <memory>
#include <string>

#include "submix/base/status.h"

namespace submix::apps {

// The path of a new directory "submix-NAME-…" in `beside` (empty: where the system keeps such),
// which goes with all that is in it when the path does. Errors: kInternal if it cannot be made.
base::StatusOr<std::shared_ptr<const std::string>> MakeScratchDirectory(const std::string& name,
                                                                        const std::string& beside);

}  // namespace submix::apps

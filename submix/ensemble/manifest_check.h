// What every manifest obeys, whether just read or about to be written.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {

inline constexpr int kMaxParts = 1'000'000;

// `path` opens the messages. Errors: kInvalidArgument naming the field.
base::Status CheckManifest(const Manifest& manifest, const std::string& path);

}  // namespace submix::ensemble

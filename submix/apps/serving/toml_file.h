// TOML files of the operator's: read whole, with errors that name the line.
#pragma once

#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "submix/base/status.h"

namespace submix::apps {

// Errors: ReadFile's; kInvalidArgument naming the line for what is not TOML, or a line of more than
// 4096 bytes.
base::StatusOr<toml::table> ReadToml(const std::string& path);

// "PATH:LINE: WHERE: WHY" as kInvalidArgument.
base::Status WrongAt(const std::string& path, const toml::node& node, std::string_view where,
                     const std::string& why);

}  // namespace submix::apps

#include "submix/apps/serving/toml_file.h"

#include <algorithm>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::apps {
namespace {

// The library takes a key of many parts apart in a recursion as deep; a key cannot leave its line.
base::Status CheckLineLengths(std::string_view text, const std::string& path) {
  constexpr std::size_t kLongestLine = 4'096;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    if (length > kLongestLine) {
      return base::InvalidArgumentError(path + ":" + std::to_string(line) +
                                        ": a line of more than 4096 bytes; make it shorter");
    }
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<toml::table> ReadToml(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SUBMIX_RETURN_IF_ERROR(CheckLineLengths(text, path));
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    return base::InvalidArgumentError(path + ":" + std::to_string(error.source().begin.line) +
                                      ": not TOML: " + base::Printable(error.description()));
  }
}

base::Status WrongAt(const std::string& path, const toml::node& node, std::string_view where,
                     const std::string& why) {
  return base::InvalidArgumentError(path + ":" + std::to_string(node.source().begin.line) + ": " +
                                    std::string(where) + ": " + why);
}

}  // namespace submix::apps

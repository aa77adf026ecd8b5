// The options of `submix serve`, each said once: its key in the TOML file, its flag if it has one,
// what it may be, and what it does. The reader of the file, the command line and
// examples/serve.toml loop over this table. Thread-safe: the table is constant.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "submix/apps/serving/serve_config.h"

namespace submix::apps {

struct ServeOption {
  template <typename T>
  using Field = T& (*)(ServeConfig& config);

  std::string_view path;       // "server.port"
  std::string_view flag = {};  // "--port", counts more than the file; empty: only the file says it
  std::string_view help = {};
  // Those of "operator." require config.operator_server.
  std::variant<Field<std::string>, Field<std::vector<std::string>>, Field<bool>, Field<int>,
               Field<std::size_t>, Field<std::chrono::milliseconds>,
               Field<std::chrono::nanoseconds>>
      field;
  double least = 0;  // of numbers; of times in seconds
  double most = kDay;
  std::vector<std::string> (*words)() = nullptr;  // one of them, or the default
  bool (*accepts)(std::string_view text) = nullptr;
  std::string_view expected = {};  // what that accepts
  // Shown in place of the default in examples/serve.toml, as a comment.
  std::string_view example = {};

  std::string_view section() const { return path.substr(0, path.find('.')); }
  std::string_view key() const { return path.substr(path.find('.') + 1); }

  static constexpr double kDay = 86'400;
};

// In the order of examples/serve.toml and of --help.
std::span<const ServeOption> ServeOptionsTable();
// Null: there is no such option.
const ServeOption* FindServeOption(std::string_view section, std::string_view key);

// The operator's listener, which is there where the file has its section.
inline constexpr std::string_view kOperatorSection = "operator";
server::OperatorServerOptions DefaultOperatorServer();

// As TOML writes it.
std::string ServeValueText(const ServeOption& option, const ServeConfig& config);
// examples/serve.toml.
std::string ServeOptionsAsToml();

}  // namespace submix::apps

#include "submix/apps/serving/serve_config.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include <sys/stat.h>

#include "submix/apps/serving/serve_options_table.h"
#include "submix/apps/serving/toml_file.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"

namespace submix::apps {
namespace {

using base::Status;

constexpr char kExampleHasAll[] = "; examples/serve.toml has all";

std::string ListOf(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "\"" : ", \"") + word + "\"";
  return list;
}

// The kinds of value. Each returns what is expected, where it is something else; empty: set.

std::string SetValue(const ServeOption& option, const toml::node& node, std::string& value) {
  const auto found = node.value_exact<std::string>();
  if (!found) return "a string";
  if (option.words != nullptr && *found != value) {
    const std::vector<std::string> words = option.words();
    if (std::ranges::find(words, *found) == words.end()) return "one of " + ListOf(words);
  }
  if (option.accepts != nullptr && !option.accepts(*found)) return std::string(option.expected);
  value = *found;
  return "";
}

std::string SetValue(const ServeOption&, const toml::node& node, std::vector<std::string>& values) {
  constexpr char kExpected[] = "a list of strings";
  const toml::array* const list = node.as_array();
  if (list == nullptr) return kExpected;
  values.clear();
  for (const toml::node& each : *list) {
    const auto value = each.value_exact<std::string>();
    if (!value) return kExpected;
    values.push_back(*value);
  }
  return "";
}

std::string SetValue(const ServeOption&, const toml::node& node, bool& value) {
  const auto found = node.value_exact<bool>();
  if (!found) return "true or false";
  value = *found;
  return "";
}

template <typename Integer>
requires std::is_integral_v<Integer> std::string SetValue(const ServeOption& option,
                                                          const toml::node& node, Integer& value) {
  const auto found = node.value_exact<std::int64_t>();
  if (!found) return "an integer";
  const auto least = static_cast<std::int64_t>(option.least);
  const auto most = static_cast<std::int64_t>(option.most);
  if (*found < least || *found > most) {
    return std::to_string(least) + " to " + std::to_string(most) + ", got " +
           std::to_string(*found);
  }
  value = static_cast<Integer>(*found);
  return "";
}

// In seconds, fractions included.
template <typename Period>
std::string SetValue(const ServeOption& option, const toml::node& node,
                     std::chrono::duration<std::int64_t, Period>& value) {
  const auto seconds = node.value<double>();
  if (!seconds || !(*seconds >= option.least && *seconds <= option.most)) {
    return "seconds, from " + base::NumberText(option.least) + " to a day";
  }
  value = std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1'000));
  return "";
}

std::string SetNode(const ServeOption& option, const toml::node& node, ServeConfig& config) {
  return std::visit([&](auto field) { return SetValue(option, node, field(config)); },
                    option.field);
}

Status ReadSection(std::string_view name, const toml::node& node, const std::string& path,
                   ServeConfig& config) {
  const bool is_known = std::ranges::any_of(
      ServeOptionsTable(), [&](const ServeOption& option) { return option.section() == name; });
  if (!is_known) {
    return WrongAt(path, node, name,
                   std::string("there is no such ") +
                       (node.is_table() ? "section" : "option outside sections") + kExampleHasAll);
  }
  const toml::table* const table = node.as_table();
  if (table == nullptr) return WrongAt(path, node, name, "expected a table");
  if (name == kOperatorSection) config.operator_server = DefaultOperatorServer();
  for (const auto& [key, value] : *table) {
    const ServeOption* const option = FindServeOption(name, key.str());
    const std::string expected =
        option == nullptr ? std::string() : SetNode(*option, value, config);
    if (option != nullptr && expected.empty()) continue;
    return WrongAt(path, value, std::string(name) + "." + std::string(key.str()),
                   option == nullptr ? std::string("there is no such option") + kExampleHasAll
                                     : "expected " + expected);
  }
  if (name == kOperatorSection && config.operator_key_file.empty()) {
    return WrongAt(path, node, "operator.key_file", "the operator's listener needs one");
  }
  return base::OkStatus();
}

Status ReadOperatorKey(ServeConfig& config) {
  if (!config.operator_server) return base::OkStatus();
  const std::string& path = config.operator_key_file;
  struct stat key_status {};
  if (::stat(path.c_str(), &key_status) == 0 && (key_status.st_mode & 077) != 0) {
    return base::InvalidArgumentError(
        path + ": the operator's key may be read by others; chmod 600 " + path);
  }
  std::string& key = config.operator_server->key;
  SUBMIX_ASSIGN_OR_RETURN(key, base::ReadFile(path));
  while (!key.empty() && key.back() == '\n') key.pop_back();
  return base::OkStatus();
}

base::StatusOr<ServeConfig> Read(const toml::table& file, const std::string& path) {
  ServeConfig config;
  for (const auto& [name, node] : file) {
    SUBMIX_RETURN_IF_ERROR(ReadSection(name.str(), node, path, config));
  }
  SUBMIX_RETURN_IF_ERROR(ReadOperatorKey(config));
  return config;
}

// Whether one would be in the other's way, or hardly told from it: the operator's is on loopback.
bool HaveOnePlace(const server::ListenerOptions& http, const server::ListenerOptions& loopback) {
  if (!http.unix_socket.empty() || !loopback.unix_socket.empty()) {
    return http.unix_socket == loopback.unix_socket;
  }
  const bool includes_loopback = IsLoopback(http) || http.host == "0.0.0.0" || http.host == "::";
  return includes_loopback && http.port != 0 && http.port == loopback.port;
}

}  // namespace

bool IsLoopback(const server::ListenerOptions& listener) {
  return !listener.unix_socket.empty() || listener.host == "127.0.0.1" || listener.host == "::1" ||
         listener.host == "localhost";
}

base::StatusOr<ServeConfig> LoadServeConfig(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const toml::table file, ReadToml(path));
  return Read(file, path);
}

std::string SetServeOption(const ServeOption& option, const std::string& text,
                           ServeConfig& config) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && parsed_to == end;
  if (std::holds_alternative<ServeOption::Field<std::string>>(option.field) || !is_number) {
    return SetNode(option, toml::value<std::string>(text), config);
  }
  return SetNode(option, toml::value<std::int64_t>(number), config);
}

Status CheckServeConfig(const ServeConfig& config) {
  const server::ListenerOptions& listener = config.http.listener;
  if (!config.require_api_key && !IsLoopback(listener)) {
    return base::InvalidArgumentError(
        "server.require_api_key is false, so everybody could spend the budget: then listen on "
        "loopback or a Unix socket only, not on " +
        listener.host);
  }
  if (listener.certificate.empty() != listener.private_key.empty()) {
    return base::InvalidArgumentError("TLS needs both, tls.certificate and tls.private_key");
  }
  if (!config.operator_server) return base::OkStatus();
  if (HaveOnePlace(listener, config.operator_server->listener)) {
    return base::InvalidArgumentError(
        "server and operator would listen in one place: give operator.port, or "
        "operator.unix_socket, another value than the server's");
  }
  return server::CheckOperatorOptions(*config.operator_server);
}

}  // namespace submix::apps

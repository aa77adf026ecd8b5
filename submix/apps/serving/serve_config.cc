#include "submix/apps/serving/serve_config.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <toml++/toml.h>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/workbench/models/model_options.h"

namespace submix::apps {
namespace {

using base::Status;
using std::chrono::milliseconds;

// One table of the file. Keeps the first error of all tables.
class Section {
 public:
  Section(const toml::table& file, std::string_view name, const std::string& path, Status& error)
      : name_(name), path_(path), error_(error) {
    const toml::node* node = file.get(name);
    if (node == nullptr) return;
    table_ = node->as_table();
    if (table_ == nullptr) Fail(*node, "", "expected a table");
  }
  bool is_given() const { return table_ != nullptr; }

  void Read(std::string_view key, std::string& value) {
    ReadAs<std::string>(key, value, "a string");
  }
  // One of `choices`.
  void Read(std::string_view key, std::string& value,
            std::initializer_list<std::string_view> choices) {
    Read(key, value);
    if (std::ranges::find(choices, value) != choices.end()) return;
    std::string list;
    for (const std::string_view choice : choices) {
      list += (list.empty() ? "\"" : ", \"") + std::string(choice) + "\"";
    }
    Fail(*Find(key), key, "expected one of " + list);
  }
  void Read(std::string_view key, std::vector<std::string>& values) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    if (list == nullptr) return Fail(*node, key, "expected a list of strings");
    for (const toml::node& each : *list) {
      const auto value = each.value_exact<std::string>();
      if (!value) return Fail(each, key, "expected a list of strings");
      values.push_back(*value);
    }
  }
  void Read(std::string_view key, bool& value) { ReadAs<bool>(key, value, "true or false"); }

  template <typename Integer>
  void Read(std::string_view key, Integer& value, std::int64_t low, std::int64_t high) {
    std::int64_t number = static_cast<std::int64_t>(value);
    ReadAs<std::int64_t>(key, number, "an integer");
    if (const toml::node* node = Find(key); node != nullptr && (number < low || number > high)) {
      Fail(*node, key,
           "expected " + std::to_string(low) + " to " + std::to_string(high) + ", got " +
               std::to_string(number));
    }
    value = static_cast<Integer>(number);
  }

  // In seconds, fractions included.
  void Read(std::string_view key, milliseconds& value, double low) {
    constexpr double kMost = 86'400;
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    const auto seconds = node->value<double>();
    if (!seconds || !(*seconds >= low && *seconds <= kMost)) {
      return Fail(*node, key, "expected seconds, from " + base::NumberText(low) + " to a day");
    }
    value = milliseconds(static_cast<std::int64_t>(*seconds * 1'000));
  }

  void FailHere(std::string_view key, const std::string& why) { Fail(*table_, key, why); }

  // Whatever was not read does not exist.
  void Finish() {
    if (table_ == nullptr) return;
    for (const auto& [key, node] : *table_) {
      if (!known_.contains(key.str()))
        Fail(node, key.str(), "there is no such option; examples/serve.toml has all");
    }
  }

 private:
  const toml::node* Find(std::string_view key) {
    known_.insert(key);
    return table_ == nullptr ? nullptr : table_->get(key);
  }

  template <typename Value>
  void ReadAs(std::string_view key, Value& value, const char* kind) {
    const toml::node* node = Find(key);
    if (node == nullptr) return;
    if (const auto found = node->value_exact<Value>()) {
      value = *found;
    } else {
      Fail(*node, key, "expected " + std::string(kind));
    }
  }

  void Fail(const toml::node& node, std::string_view key, const std::string& why) {
    if (!error_.ok()) return;
    error_ = base::InvalidArgumentError(path_ + ":" + std::to_string(node.source().begin.line) +
                                        ": " + std::string(name_) + (key.empty() ? "" : ".") +
                                        std::string(key) + ": " + why);
  }

  const std::string_view name_;
  const std::string& path_;
  Status& error_;
  const toml::table* table_ = nullptr;
  std::set<std::string_view> known_;
};

constexpr std::string_view kSections[] = {"server", "timeouts",  "tls", "engine",
                                          "cache",  "predictor", "log", "operator"};
constexpr int kMostConnections = 65'536;

void ReadServer(Section section, ServeConfig& config) {
  server::HttpServerOptions& http = config.http;
  section.Read("host", http.listener.host);
  section.Read("port", http.listener.port, 0, 65'535);
  section.Read("unix_socket", http.listener.unix_socket);
  section.Read("connections", http.listener.connections, 1, kMostConnections);
  section.Read("body_bytes", http.listener.body_bytes, 1'024, 1 << 28);
  section.Read("require_api_key", config.require_api_key);
  section.Read("allowed_hosts", http.allowed_hosts);
  section.Read("strict_fields", http.parse.strict_fields);
  section.Read("max_choices", http.parse.max_choices, 1, 1'024);
  section.Read("chat_max_tokens", http.chat_max_tokens, 1, 1 << 20);
  section.Read("chat_format", config.chat_format);
  section.Read("metrics", http.metrics);
  section.Finish();
}

void ReadTimeouts(Section section, ServeConfig& config) {
  server::ListenerOptions& listener = config.http.listener;
  section.Read("header", listener.header_timeout, 0.1);
  section.Read("body", listener.body_timeout, 0.1);
  section.Read("write", listener.write_timeout, 0.1);
  section.Read("idle", listener.idle_timeout, 0.1);
  section.Read("request", config.http.request_time, 0);
  milliseconds step = std::chrono::duration_cast<milliseconds>(config.scheduler.longest_step);
  section.Read("step", step, 0.1);
  config.scheduler.longest_step = step;
  section.Read("stop", config.stop_time, 0);
  section.Finish();
}

void ReadEngine(Section section, ServeConfig& config) {
  engine::SchedulerOptions& scheduler = config.scheduler;
  section.Read("max_live", scheduler.max_live, 1, 4'096);
  section.Read("max_paused", scheduler.max_paused, 0, 4'096);
  section.Read("max_waiting", scheduler.max_waiting, 1, 1 << 20);
  section.Read("max_waiting_per_key", scheduler.max_waiting_per_key, 1, 1 << 20);
  section.Read("prompt_tokens", scheduler.prompt_tokens, 1, 1 << 20);
  section.Read("max_prompt_tokens", scheduler.max_prompt_tokens, 1, 1 << 20);
  milliseconds quantum{0};
  section.Read("quantum", quantum, 0);
  scheduler.quantum = quantum;
  section.Finish();
}

void ReadRest(const toml::table& file, const std::string& path, Status& error,
              ServeConfig& config) {
  Section tls(file, "tls", path, error);
  tls.Read("certificate", config.http.listener.certificate);
  tls.Read("private_key", config.http.listener.private_key);
  tls.Finish();
  Section cache(file, "cache", path, error);
  cache.Read("bytes_per_key", config.cache_bytes_per_key, 0,
             std::numeric_limits<std::int32_t>::max());
  cache.Read("prefix_tokens_per_key", config.prefix_tokens_per_key, 0, 1 << 20);
  cache.Finish();
  Section predictor(file, "predictor", path, error);
  predictor.Read("predictor", config.predictor.predictor);
  if (!workbench::IsPredictor(config.predictor.predictor)) {
    predictor.FailHere("predictor", std::string("expected ") + workbench::kPredictorNames);
  }
  predictor.Read("precision", config.predictor.precision, {"bf16", "f32", "int8", "int4"});
  predictor.Read("kv_cache", config.predictor.kv_cache, {"auto", "int8"});
  predictor.Read("threads", config.predictor.threads, 0, 1'024);
  predictor.Finish();
  Section log(file, "log", path, error);
  log.Read("requests", config.log_requests);
  log.Finish();
}

Status ReadOperator(Section section, ServeConfig& config) {
  if (!section.is_given()) return base::OkStatus();
  server::OperatorServerOptions options;
  options.listener.port = 9'090;
  std::string key_file;
  section.Read("host", options.listener.host);
  section.Read("port", options.listener.port, 0, 65'535);
  section.Read("unix_socket", options.listener.unix_socket);
  section.Read("key_file", key_file);
  if (key_file.empty()) section.FailHere("key_file", "the operator's listener needs one");
  section.Finish();
  if (key_file.empty()) return base::OkStatus();
  options.listener.connections = 16;
  options.listener.kept_for_keys = 4;
  struct stat key_status {};
  if (::stat(key_file.c_str(), &key_status) == 0 && (key_status.st_mode & 077) != 0) {
    return base::InvalidArgumentError(
        key_file + ": the operator's key may be read by others; chmod 600 " + key_file);
  }
  SUBMIX_ASSIGN_OR_RETURN(options.key, base::ReadFile(key_file));
  while (!options.key.empty() && options.key.back() == '\n') options.key.pop_back();
  config.operator_server = std::move(options);
  return base::OkStatus();
}

base::StatusOr<ServeConfig> Read(const toml::table& file, const std::string& path) {
  ServeConfig config;
  Status error;
  for (const auto& [key, node] : file) {
    if (std::ranges::find(kSections, key.str()) == std::end(kSections)) {
      return base::InvalidArgumentError(path + ":" + std::to_string(node.source().begin.line) +
                                        ": " + std::string(key.str()) + ": there is no such " +
                                        (node.is_table() ? "section" : "option outside sections") +
                                        "; examples/serve.toml has all");
    }
  }
  ReadServer(Section(file, "server", path, error), config);
  ReadTimeouts(Section(file, "timeouts", path, error), config);
  ReadEngine(Section(file, "engine", path, error), config);
  ReadRest(file, path, error, config);
  SUBMIX_RETURN_IF_ERROR(error);
  SUBMIX_RETURN_IF_ERROR(ReadOperator(Section(file, "operator", path, error), config));
  SUBMIX_RETURN_IF_ERROR(error);
  return config;
}

// The library takes a key of many parts apart in a recursion as deep; a key cannot leave its line.
Status CheckLineLengths(std::string_view text, const std::string& path) {
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

bool IsLoopback(const server::ListenerOptions& listener) {
  return !listener.unix_socket.empty() || listener.host == "127.0.0.1" || listener.host == "::1" ||
         listener.host == "localhost";
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

base::StatusOr<ServeConfig> LoadServeConfig(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  SUBMIX_RETURN_IF_ERROR(CheckLineLengths(text, path));
  try {
    return Read(toml::parse(text), path);
  } catch (const toml::parse_error& error) {
    return base::InvalidArgumentError(path + ":" + std::to_string(error.source().begin.line) +
                                      ": not TOML: " + base::Printable(error.description()));
  }
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

// The configuration of `submix serve`: a TOML file, and the command line, which counts more. Every
// option is a row of serve_options_table.h, and stands with its default in examples/serve.toml.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "submix/base/status.h"
#include "submix/engine/scheduler.h"
#include "submix/server/http_server.h"
#include "submix/server/operator_server.h"
#include "submix/workbench/models/model_options.h"

namespace submix::apps {

struct ServeConfig {
  ServeConfig() { http.listener.port = 8'080; }

  server::HttpServerOptions http;
  bool require_api_key = true;
  std::string chat_format;  // of chat::ChatTemplateNames; empty: the model's own
  engine::SchedulerOptions scheduler;
  std::size_t cache_bytes_per_key = 0;  // 0: no answer cache
  int prefix_tokens_per_key = 0;        // 0: no prompt shares what another has brought
  std::chrono::milliseconds stop_time{30'000};
  bool log_requests = true;
  workbench::ModelOptions predictor;
  std::optional<server::OperatorServerOptions> operator_server;
  std::string operator_key_file;  // what its key is read from
};

// The defaults, and what the file says instead. Reads the operator's key. Errors: kNotFound;
// kInvalidArgument naming file, line and option: not TOML, an option that does not exist, a value
// of the wrong kind or out of range.
base::StatusOr<ServeConfig> LoadServeConfig(const std::string& path);

// Sets what a command line says: a string, or a whole number. Returns what is expected where it
// says something else; empty: set.
struct ServeOption;
std::string SetServeOption(const ServeOption& option, const std::string& text, ServeConfig& config);

// Whether only this machine reaches it.
bool IsLoopback(const server::ListenerOptions& listener);

// What would be unsafe together, or in each other's way. Errors: kInvalidArgument.
base::Status CheckServeConfig(const ServeConfig& config);

}  // namespace submix::apps

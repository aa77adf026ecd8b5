// `submix serve`: the HTTP server.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <malloc.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/serving/serve_config.h"
#include "submix/apps/serving/serve_options_table.h"
#include "submix/base/json_object.h"
#include "submix/base/log.h"
#include "submix/base/log_writer.h"
#include "submix/base/number_text.h"
#include "submix/chat/chat_format.h"
#include "submix/engine/answer_cache.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/key_usage.h"
#include "submix/server/listening_socket.h"
#include "submix/server/open_files.h"
#include "submix/server/operator_server.h"
#include "submix/server/tls_context.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using json = nlohmann::ordered_json;

struct ServeOptions {
  std::string deployment;
  std::string config_file;
  std::map<const ServeOption*, std::string> given;  // empty: nobody said
  bool research = false;
  bool check = false;
};

// One JSON object a line.
std::string LogLine(const char* level, const char* event, const json& details) {
  json line = {{"time", base::UtcTime(std::time(nullptr))}, {"level", level}, {"event", event}};
  line.update(details);
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Clients' requests, the engine's steps and the graceful stop say lines: none of them waits for
// whoever reads stderr.
base::LogWriter& LogOnStderr() {
  constexpr std::size_t kMostBytes = 1 << 20;
  static base::LogWriter& log =
      base::LogWriter::Start(STDERR_FILENO, kMostBytes, [](std::int64_t lines) {
        return LogLine("warning", "log_dropped", {{"lines", lines}});
      });
  return log;
}

// Thread-safe.
void WriteLogLine(const char* level, const char* event, const json& details) {
  LogOnStderr().Write(LogLine(level, event, details));
}

// At the end, for a moment: the reader may be stalled.
void FlushLog() { LogOnStderr().Flush(std::chrono::seconds(1)); }

void LogRequest(const server::RequestRecord& record) {
  WriteLogLine("info", "request",
               {{"id", record.id},
                {"endpoint", record.endpoint},
                {"key", record.key},
                {"status", record.status},
                {"streamed", record.streamed},
                {"prompt_tokens", record.prompt_tokens},
                {"completion_tokens", record.completion_tokens},
                {"milliseconds", record.duration.count()}});
}

base::StatusOr<ServeConfig> Configure(const ServeOptions& options) {
  ServeConfig config;
  if (!options.config_file.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(config, LoadServeConfig(options.config_file));
  }
  for (const auto& [option, text] : options.given) {
    if (!text.empty()) SetServeOption(*option, text, config);
  }
  SUBMIX_RETURN_IF_ERROR(CheckServeConfig(config));
  config.predictor.sequences = config.scheduler.max_live;
  config.predictor.patience = config.scheduler.longest_step;
  if (config.log_requests) config.http.on_request = LogRequest;
  return config;
}

// Names the model, and says so if its guarantee is not proven.
Status NameModel(const ServeOptions& options, const engine::Deployment& deployment,
                 ServeConfig& config) {
  config.http.model = std::filesystem::canonical(options.deployment).filename();
  struct stat file {};
  if (::stat(engine::DeploymentConfigPath(options.deployment).c_str(), &file) == 0) {
    config.http.created = file.st_mtime;
  }
  if (!deployment.mechanism->is_sound()) config.http.model += "-research";
  return engine::CheckMayBeServed(options.deployment, deployment, options.research);
}

Status WarnWithoutKeys(const ServeConfig& config, const engine::ApiKeys& keys) {
  if (!config.require_api_key) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto list, keys.List());
  for (const engine::ApiKey& key : list) {
    if (!key.revoked) return base::OkStatus();
  }
  WriteLogLine("warning", "no_api_keys",
               {{"message",
                 "no API key is valid, so nobody can ask: `submix key create` makes one, also "
                 "while the server runs"}});
  return base::OkStatus();
}

std::string Address(const server::ListenerOptions& listener, int port) {
  if (!listener.unix_socket.empty()) return "unix:" + listener.unix_socket;
  return (listener.certificate.empty() ? "http://" : "https://") + listener.host +
         (port == 0 ? ", any free port" : ":" + std::to_string(port));
}

// What a listener that others can reach shows to whoever is on the way; else empty.
std::string Unencrypted(const server::ListenerOptions& listener) {
  if (IsLoopback(listener) || !listener.certificate.empty()) return "";
  return "keys, prompts and answers travel unencrypted; give --tls-certificate and "
         "--tls-private-key, or put a proxy in front";
}

base::StatusOr<std::string> TlsText(const server::ListenerOptions& listener) {
  if (listener.certificate.empty()) {
    const std::string warning = Unencrypted(listener);
    return "off" + (warning.empty() ? "" : ": " + warning);
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::time_t end,
                          server::CheckTlsFiles(listener.certificate, listener.private_key));
  return listener.certificate + ", valid until " + base::UtcTime(end) +
         (end < std::time(nullptr) ? ": EXPIRED, clients will refuse it" : "");
}

base::StatusOr<std::unique_ptr<const chat::ChatFormat>> LoadChatFormat(
    const engine::Deployment& deployment, const std::string& name,
    const tokenizer::Tokenizer& tokenizer) {
  return chat::ChatFormat::Load(deployment.ensemble.public_directory(), name, tokenizer);
}

// Which template writes them, and what ends an answer.
std::string ChatsText(const chat::ChatFormat& format) {
  const std::string& end = format.turn_end();
  return format.name() + "; an answer ends at " +
         (end.empty() ? "" : base::JsonText(end) + " or ") + "the model's end tokens";
}

Status Check(const ServeOptions& options, ServeConfig config) {
  SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(options.deployment));
  SUBMIX_RETURN_IF_ERROR(engine::CheckMayCharge(options.deployment, deployment));
  SUBMIX_RETURN_IF_ERROR(NameModel(options, deployment, config));
  SUBMIX_ASSIGN_OR_RETURN(const std::string few_files,
                          server::FitConnections(config.http.listener.connections));
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(deployment.ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto chat_format,
                          LoadChatFormat(deployment, config.chat_format, *tokenizer));
  const server::ListenerOptions& listener = config.http.listener;
  SUBMIX_RETURN_IF_ERROR(server::CheckListeningAddress(listener));
  if (config.operator_server) {
    SUBMIX_RETURN_IF_ERROR(server::CheckListeningAddress(config.operator_server->listener));
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string tls, TlsText(listener));
  const engine::ApiKeys keys(options.deployment);
  SUBMIX_ASSIGN_OR_RETURN(const auto list, keys.List());
  const auto valid = std::ranges::count_if(list, [](const auto& key) { return !key.revoked; });
  std::printf(
      "model        %s\nchats        %s\naddress      %s\nTLS          %s\nAPI keys     "
      "%s\noperator     %s\n",
      config.http.model.c_str(), ChatsText(*chat_format).c_str(),
      Address(listener, listener.port).c_str(), tls.c_str(),
      config.require_api_key ? (std::to_string(valid) + " valid").c_str() : "not asked for",
      config.operator_server
          ? Address(config.operator_server->listener, config.operator_server->listener.port).c_str()
          : "off");
  std::printf(
      "connections  %d%s\nbatch        %d, and %d waiting\ncache        answers %s, prefixes "
      "%s\n\n%s",
      listener.connections, few_files.empty() ? "" : ("; " + few_files).c_str(),
      config.scheduler.max_live, config.scheduler.max_waiting,
      config.cache_bytes_per_key > 0 ? "on" : "off",
      config.prefix_tokens_per_key > 0 ? "on" : "off",
      engine::DeploymentPromise(deployment).ToText().c_str());
  return base::OkStatus();
}

// Blocks the signals that stop the server, for this thread and all that it starts from now on. A
// SIGHUP that is ignored stays so: `nohup` wants the server to survive its terminal.
sigset_t BlockStopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  struct sigaction on_hangup {};
  ::sigaction(SIGHUP, nullptr, &on_hangup);
  if (on_hangup.sa_handler != SIG_IGN) sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// The engine's thread waits for a ledger that does not answer, and whoever waited for it would,
// too. No charge is lost by this: a token leaves only against a receipt.
[[noreturn]] void EndWithoutTheEngine() {
  WriteLogLine("error", "stopped",
               {{"message",
                 "a step did not end: the ledger or the predictor does not answer. What it was "
                 "asked to charge may "
                 "have been charged; nothing of it was released"}});
  FlushLog();
  std::_Exit(1);
}

// Waits for a signal that stops the server. Meanwhile gives back to the system what bursts of large
// requests have left free in malloc's arenas: these would keep hundreds of megabytes for good.
void AwaitStop(const sigset_t& stop_signals) {
  constexpr std::size_t kWorthwhile = 32 << 20;
  constexpr timespec kInterval{3, 0};
  while (::sigtimedwait(&stop_signals, nullptr, &kInterval) < 0) {
    if (::mallinfo2().fordblks > kWorthwhile) ::malloc_trim(0);
  }
}

Status Serve(const ServeOptions& options, ServeConfig config, const sigset_t& stop_signals) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string few_files,
                          server::FitConnections(config.http.listener.connections));
  if (!few_files.empty()) {
    WriteLogLine("warning", "few_open_files",
                 {{"message", few_files}, {"connections", config.http.listener.connections}});
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto deployed,
      OpenDeployedEngine(options.deployment, config.predictor, config.prefix_tokens_per_key));
  SUBMIX_RETURN_IF_ERROR(NameModel(options, deployed->deployment, config));
  SUBMIX_ASSIGN_OR_RETURN(
      config.http.chat_format,
      LoadChatFormat(deployed->deployment, config.chat_format, *deployed->tokenizer));
  const engine::ApiKeys keys(options.deployment);
  SUBMIX_RETURN_IF_ERROR(WarnWithoutKeys(config, keys));
  SUBMIX_ASSIGN_OR_RETURN(const auto usage, engine::KeyUsage::Open(options.deployment));
  engine::AnswerCache cache(config.cache_bytes_per_key);
  config.scheduler.generation = engine::DeploymentFingerprint(deployed->deployment.config);
  SUBMIX_ASSIGN_OR_RETURN(
      const auto scheduler,
      engine::Scheduler::Start(std::move(deployed->core), config.scheduler, usage.get(),
                               config.cache_bytes_per_key > 0 ? &cache : nullptr));
  std::unique_ptr<server::OperatorServer> operator_server;
  if (config.operator_server) {
    SUBMIX_ASSIGN_OR_RETURN(
        operator_server, server::OperatorServer::Start(
                             *config.operator_server, deployed->deployment, scheduler->counters()));
    WriteLogLine("info", "operator_listening",
                 {{"address", Address(config.operator_server->listener, operator_server->port())}});
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto http,
      server::HttpServer::Start(config.http, *scheduler, config.require_api_key ? &keys : nullptr));
  if (const std::string warning = Unencrypted(config.http.listener); !warning.empty()) {
    WriteLogLine("warning", "no_tls", {{"message", warning}});
  }
  WriteLogLine(
      "info", "listening",
      {{"address", Address(config.http.listener, http->port())}, {"model", config.http.model}});

  AwaitStop(stop_signals);
  pthread_sigmask(SIG_UNBLOCK, &stop_signals, nullptr);  // a second one ends the process at once
  WriteLogLine("info", "stopping", {{"seconds", config.stop_time.count() / 1'000}});
  http->Stop(std::chrono::steady_clock::now() + config.stop_time);
  if (!scheduler->has_stopped()) EndWithoutTheEngine();
  WriteLogLine("info", "stopped", json::object());
  return base::OkStatus();
}

Status RunServe(const ServeOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(ServeConfig config, Configure(options));
  if (options.check) return Check(options, std::move(config));
  const sigset_t stop_signals = BlockStopSignals();
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads the log may go away
  base::SetLogSink([](base::LogSeverity severity, std::string_view line) {
    constexpr const char* kLevels[] = {"info", "warning", "error"};
    WriteLogLine(kLevels[static_cast<std::size_t>(severity)], "message", {{"message", line}});
  });
  const Status status = Serve(options, std::move(config), stop_signals);
  FlushLog();
  return status;
}

void AddFlag(Flags flags, const ServeOption& option, std::string& given) {
  const CLI::Validator is_value(
      [&option](const std::string& text) {
        ServeConfig scratch;
        const std::string expected = SetServeOption(option, text, scratch);
        return expected.empty() ? expected : "expected " + expected;
      },
      "");
  std::string usual = ServeValueText(option, ServeConfig());
  const bool is_text = usual.starts_with('"');
  if (is_text) usual = usual.substr(1, usual.size() - 2);
  flags
      .Add(std::string(option.flag), given,
           option.words == nullptr ? is_value : OneOf(option.words()), std::string(option.help))
      ->type_name(is_text ? "TEXT" : "INT")
      ->default_str(usual);
}

}  // namespace

void AddServeCommand(CLI::App& command, Action& action) {
  ServeOptions& options = SetAction<ServeOptions>(command, action, RunServe);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Add("--config", options.config_file, kFile,
            "TOML file; examples/serve.toml has every option. What flags say counts more");
  for (const ServeOption& option : ServeOptionsTable()) {
    if (!option.flag.empty()) AddFlag(flags, option, options.given[&option]);
  }
  flags.Add("--research", options.research,
            "Serve a mechanism whose guarantee is not proven for every data set");
  flags.Add("--check", options.check,
            "Read configuration, keys and deployment, say what would be done, and end");
  command.footer(
      "Speaks OpenAI's API. SIGTERM stops it gracefully; logs are JSON lines on stderr.\n"
      "Example: submix serve my_deployment --port 8080");
}

}  // namespace submix::apps

#include "submix/apps/serving/serve_options_table.h"

#include <algorithm>
#include <type_traits>

#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/chat/chat_template.h"

namespace submix::apps {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr ServeOption kServeTable[] = {
    {.path = "server.host",
     .flag = "--host",
     .help = "Address to listen on; 0.0.0.0 or :: for the network, then with TLS or behind a proxy "
             "that has it",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.host; }},
    {.path = "server.port",
     .flag = "--port",
     .most = 65'535,
     .help = "Port to listen on; 0: any free one, named in the log",
     .field = +[](ServeConfig& c) -> int& { return c.http.listener.port; }},
    {.path = "server.unix_socket",
     .example = "\"/run/submix/http.sock\"",
     .help = "Instead of host and port; mode 0600",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.unix_socket; }},
    {.path = "server.connections",
     .least = 1,
     .most = 65'536,
     .help = "Most at a time; a quarter is kept for clients that have shown a key",
     .field = +[](ServeConfig& c) -> int& { return c.http.listener.connections; }},
    {.path = "server.body_bytes",
     .least = 1'024,
     .most = 1 << 28,
     .help = "Larger requests are refused with 413",
     .field = +[](ServeConfig& c) -> std::size_t& { return c.http.listener.body_bytes; }},
    {.path = "server.require_api_key",
     .help = "false only on loopback or a Unix socket: everybody may spend the budget",
     .field = +[](ServeConfig& c) -> bool& { return c.require_api_key; }},
    {.path = "server.allowed_hosts",
     .help = "Without keys: what else clients may call this server, \"llm.example\" behind a proxy",
     .field = +[](ServeConfig& c) -> std::vector<std::string>& { return c.http.allowed_hosts; }},
    {.path = "server.strict_fields",
     .help = "Refuse fields of a request that are not known, instead of ignoring them",
     .field = +[](ServeConfig& c) -> bool& { return c.http.parse.strict_fields; }},
    {.path = "server.max_choices",
     .least = 1,
     .most = 1'024,
     .help = "Most prompts × n of one request; each choice is charged for itself",
     .field = +[](ServeConfig& c) -> int& { return c.http.parse.max_choices; }},
    {.path = "server.chat_max_tokens",
     .least = 1,
     .most = 1 << 20,
     .help = "Of a chat without max_tokens (completions: 16, as in OpenAI's API)",
     .field = +[](ServeConfig& c) -> int& { return c.http.chat_max_tokens; }},
    {.path = "server.chat_format",
     .flag = "--chat-format",
     .words = chat::ChatTemplateNames,
     .help = "How chats are written for the model; \"\": as its own chat template writes them",
     .field = +[](ServeConfig& c) -> std::string& { return c.chat_format; }},
    {.path = "server.metrics",
     .help = "GET /metrics, for Prometheus; counts of public things only",
     .field = +[](ServeConfig& c) -> bool& { return c.http.metrics; }},
    {.path = "timeouts.header",
     .least = 0.1,
     .help = "Until the whole header has arrived, however slowly",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.http.listener.header_timeout; }},
    {.path = "timeouts.body",
     .least = 0.1,
     .help = "Until the whole body has arrived",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.http.listener.body_timeout; }},
    {.path = "timeouts.write",
     .least = 0.1,
     .help = "Until the client takes what is sent",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.http.listener.write_timeout; }},
    {.path = "timeouts.idle",
     .least = 0.1,
     .help = "Between two requests of a connection",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.http.listener.idle_timeout; }},
    {.path = "timeouts.request",
     .help = "Most for one request, waiting included; 0: no limit",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.http.request_time; }},
    {.path = "timeouts.step",
     .least = 0.1,
     .help = "A step of the engine that takes longer: /readyz and new requests say 503",
     .field = +[](ServeConfig& c) -> nanoseconds& { return c.scheduler.longest_step; }},
    {.path = "timeouts.stop",
     .help = "SIGTERM: how long running answers may go on",
     .field = +[](ServeConfig& c) -> milliseconds& { return c.stop_time; }},
    {.path = "tls.certificate",
     .flag = "--tls-certificate",
     .example = "\"/etc/submix/fullchain.pem\"",
     .help = "PEM file, chain included: serve HTTPS",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.certificate; }},
    {.path = "tls.private_key",
     .flag = "--tls-private-key",
     .example = "\"/etc/submix/privkey.pem\"",
     .help = "PEM file of its key, without a password",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.private_key; }},
    {.path = "engine.max_live",
     .least = 1,
     .most = 4'096,
     .help = "Sequences in a batch",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.max_live; }},
    {.path = "engine.max_paused",
     .most = 4'096,
     .help = "More that have begun and pause, so that every key has its turn",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.max_paused; }},
    {.path = "engine.max_waiting",
     .least = 1,
     .most = 1 << 20,
     .help = "In the queue; more are told 429",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.max_waiting; }},
    {.path = "engine.max_waiting_per_key",
     .least = 1,
     .most = 1 << 20,
     .help = "Of one key, so that no key fills the queue",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.max_waiting_per_key; }},
    {.path = "engine.prompt_tokens",
     .flag = "--prompt-tokens",
     .least = 1,
     .most = 1 << 20,
     .help = "Tokens of prompts that enter in a step for each running answer, in turns between "
             "keys: fewer = steadier streams, more = earlier first tokens",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.prompt_tokens; }},
    {.path = "engine.max_prompt_tokens",
     .least = 1,
     .most = 1 << 20,
     .help = "At most in a step; as many as this while no answer is running",
     .field = +[](ServeConfig& c) -> int& { return c.scheduler.max_prompt_tokens; }},
    {.path = "engine.quantum",
     .help = "Every token takes a whole multiple of this; 0: as long as it takes",
     .field = +[](ServeConfig& c) -> nanoseconds& { return c.scheduler.quantum; }},
    {.path = "cache.bytes_per_key",
     .most = 0x7fffffff,
     .help = "Answers given again, free; in memory, for each API key apart; 0: off",
     .field = +[](ServeConfig& c) -> std::size_t& { return c.cache_bytes_per_key; }},
    {.path = "cache.prefix_tokens_per_key",
     .most = 1 << 20,
     .help = "Of prompts, kept by the models for those of the key that begin alike; 0: off",
     .field = +[](ServeConfig& c) -> int& { return c.prefix_tokens_per_key; }},
    {.path = "predictor.predictor",
     .flag = "--predictor",
     .accepts = workbench::IsPredictor,
     .expected = workbench::kPredictorNames,
     .help = "What runs the models: cpu, or external:SOCKET, the process that listens there",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.predictor; }},
    {.path = "predictor.precision",
     .words =
         +[] {
           return std::vector<std::string>{"bf16", "f32", "int8", "int4"};
         },
     .help = "Of the weights",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.precision; }},
    {.path = "predictor.kv_cache",
     .words =
         +[] {
           return std::vector<std::string>{"auto", "int8"};
         },
     .help = "int8: half the memory for keys and values of contexts",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.kv_cache; }},
    {.path = "predictor.threads",
     .most = 1'024,
     .help = "0: all cores",
     .field = +[](ServeConfig& c) -> int& { return c.predictor.threads; }},
    {.path = "log.requests",
     .help = "One line a request: counts and times, never text",
     .field = +[](ServeConfig& c) -> bool& { return c.log_requests; }},
    {.path = "operator.host",
     .field = +[](ServeConfig& c) -> std::string& { return c.operator_server->listener.host; }},
    {.path = "operator.port",
     .most = 65'535,
     .field = +[](ServeConfig& c) -> int& { return c.operator_server->listener.port; }},
    {.path = "operator.unix_socket",
     .example = "\"/run/submix/operator.sock\"",
     .field =
         +[](ServeConfig& c) -> std::string& { return c.operator_server->listener.unix_socket; }},
    {.path = "operator.key_file",
     .example = "\"/etc/submix/operator.key\"",
     .help = "At least 16 bytes, mode 0600",
     .field = +[](ServeConfig& c) -> std::string& { return c.operator_key_file; }},
};

// Comments of examples/serve.toml: before its first section, beside a section's name, and before
// that of the operator's.
constexpr char kTomlHead[] =
    "# Configuration of `submix serve DEPLOYMENT --config serve.toml`: every option, with its "
    "default.\n"
    "# `submix serve DEPLOYMENT --config serve.toml --check` says what it means. Times are in "
    "seconds.\n";
constexpr char kTlsComment[] = "PEM files, both or none; read once, at the start";
constexpr char kOperatorComment[] =
    "# The ledger for the operator, off unless this section is there: GET /ledger, "
    "/ledger/verify.\n"
    "# Loopback or a Unix socket only, with a key of its own. Never proxy it.\n";

std::string TomlLine(std::string code, std::string_view comment) {
  constexpr std::size_t kColumn = 25;
  if (comment.empty()) return code + "\n";
  code.resize(std::max(code.size() + 2, kColumn), ' ');
  return code + "# " + std::string(comment) + "\n";
}

std::string CommentOf(const ServeOption& option) {
  std::string comment(option.help);
  if (option.words == nullptr) return comment;
  comment += "; one of";
  for (const std::string& word : option.words()) comment += " \"" + word + "\"";
  return comment;
}

}  // namespace

std::span<const ServeOption> ServeOptionsTable() { return kServeTable; }

const ServeOption* FindServeOption(std::string_view section, std::string_view key) {
  const auto found = std::ranges::find_if(kServeTable, [&](const ServeOption& option) {
    return option.section() == section && option.key() == key;
  });
  return found == std::end(kServeTable) ? nullptr : found;
}

server::OperatorServerOptions DefaultOperatorServer() {
  server::OperatorServerOptions options;
  options.listener.port = 9'090;
  options.listener.connections = 16;
  options.listener.kept_for_keys = 4;
  return options;
}

std::string ServeValueText(const ServeOption& option, const ServeConfig& config) {
  return std::visit(
      [&](auto field) -> std::string {
        const auto& value = field(const_cast<ServeConfig&>(config));  // only read
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return base::JsonText(value);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          std::string list;
          for (const std::string& each : value) {
            list += (list.empty() ? "" : ", ") + base::JsonText(each);
          }
          return "[" + list + "]";
        } else if constexpr (std::is_same_v<T, bool>) {
          return value ? "true" : "false";
        } else if constexpr (std::is_arithmetic_v<T>) {
          return std::to_string(value);
        } else {
          const std::string seconds =
              base::NumberText(std::chrono::duration<double>(value).count());
          return seconds + (seconds.find('.') == std::string::npos ? ".0" : "");
        }
      },
      option.field);
}

std::string ServeOptionsAsToml() {
  ServeConfig defaults;
  defaults.operator_server = DefaultOperatorServer();
  std::string toml = kTomlHead;
  std::string_view section;
  for (const ServeOption& option : kServeTable) {
    const bool is_off = option.section() == kOperatorSection;
    if (option.section() != section) {
      section = option.section();
      toml += is_off ? std::string("\n") + kOperatorComment + "# " : "\n";
      toml += TomlLine("[" + std::string(section) + "]", section == "tls" ? kTlsComment : "");
    }
    std::string code = is_off || !option.example.empty() ? "# " : "";
    code += std::string(option.key()) + " = ";
    code += option.example.empty() ? ServeValueText(option, defaults) : std::string(option.example);
    toml += TomlLine(std::move(code), CommentOf(option));
  }
  return toml;
}

}  // namespace submix::apps

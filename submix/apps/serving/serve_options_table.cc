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

// Path, flag, help, field; for numbers least and most.
constexpr ServeOption kServeTable[] = {
    {"server.host", "--host",
     "Address to listen on; 0.0.0.0 or :: for the network, then with TLS or behind a proxy that "
     "has it",
     +[](ServeConfig& c) -> std::string& { return c.http.listener.host; }},
    {"server.port", "--port", "Port to listen on; 0: any free one, named in the log",
     +[](ServeConfig& c) -> int& { return c.http.listener.port; }, 0, 65'535},
    {.path = "server.unix_socket",
     .help = "Instead of host and port; mode 0600",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.unix_socket; },
     .example = "\"/run/submix/http.sock\""},
    {"server.connections", "",
     "Most at a time; a quarter is kept for clients that have shown a key",
     +[](ServeConfig& c) -> int& { return c.http.listener.connections; }, 1, 65'536},
    {"server.body_bytes", "", "Larger requests are refused with 413",
     +[](ServeConfig& c) -> std::size_t& { return c.http.listener.body_bytes; }, 1'024, 1 << 28},
    {"server.require_api_key", "",
     "false only on loopback or a Unix socket: everybody may spend the budget",
     +[](ServeConfig& c) -> bool& { return c.require_api_key; }},
    {"server.allowed_hosts", "",
     "Without keys: what else clients may call this server, \"llm.example\" behind a proxy",
     +[](ServeConfig& c) -> std::vector<std::string>& { return c.http.allowed_hosts; }},
    {"server.strict_fields", "",
     "Refuse fields of a request that are not known, instead of ignoring them",
     +[](ServeConfig& c) -> bool& { return c.http.parse.strict_fields; }},
    {"server.max_choices", "", "Most prompts × n of one request; each choice is charged for itself",
     +[](ServeConfig& c) -> int& { return c.http.parse.max_choices; }, 1, 1'024},
    {"server.chat_max_tokens", "",
     "Of a chat without max_tokens (completions: 16, as in OpenAI's API)",
     +[](ServeConfig& c) -> int& { return c.http.chat_max_tokens; }, 1, 1 << 20},
    {.path = "server.chat_format",
     .flag = "--chat-format",
     .help = "How chats are written for the model; \"\": as its own chat template writes them",
     .field = +[](ServeConfig& c) -> std::string& { return c.chat_format; },
     .words = chat::ChatTemplateNames},
    {"server.metrics", "", "GET /metrics, for Prometheus; counts of public things only",
     +[](ServeConfig& c) -> bool& { return c.http.metrics; }},
    {"timeouts.header", "", "Until the whole header has arrived, however slowly",
     +[](ServeConfig& c) -> milliseconds& { return c.http.listener.header_timeout; }, 0.1},
    {"timeouts.body", "", "Until the whole body has arrived",
     +[](ServeConfig& c) -> milliseconds& { return c.http.listener.body_timeout; }, 0.1},
    {"timeouts.write", "", "Until the client takes what is sent",
     +[](ServeConfig& c) -> milliseconds& { return c.http.listener.write_timeout; }, 0.1},
    {"timeouts.idle", "", "Between two requests of a connection",
     +[](ServeConfig& c) -> milliseconds& { return c.http.listener.idle_timeout; }, 0.1},
    {"timeouts.request", "", "Most for one request, waiting included; 0: no limit",
     +[](ServeConfig& c) -> milliseconds& { return c.http.request_time; }},
    {"timeouts.step", "",
     "A step of the engine that takes longer: /readyz and new requests say 503",
     +[](ServeConfig& c) -> nanoseconds& { return c.scheduler.longest_step; }, 0.1},
    {"timeouts.stop", "", "SIGTERM: how long running answers may go on",
     +[](ServeConfig& c) -> milliseconds& { return c.stop_time; }},
    {.path = "tls.certificate",
     .flag = "--tls-certificate",
     .help = "PEM file, chain included: serve HTTPS",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.certificate; },
     .example = "\"/etc/submix/fullchain.pem\""},
    {.path = "tls.private_key",
     .flag = "--tls-private-key",
     .help = "PEM file of its key, without a password",
     .field = +[](ServeConfig& c) -> std::string& { return c.http.listener.private_key; },
     .example = "\"/etc/submix/privkey.pem\""},
    {"engine.max_live", "", "Sequences in a batch",
     +[](ServeConfig& c) -> int& { return c.scheduler.max_live; }, 1, 4'096},
    {"engine.max_paused", "", "More that have begun and pause, so that every key has its turn",
     +[](ServeConfig& c) -> int& { return c.scheduler.max_paused; }, 0, 4'096},
    {"engine.max_waiting", "", "In the queue; more are told 429",
     +[](ServeConfig& c) -> int& { return c.scheduler.max_waiting; }, 1, 1 << 20},
    {"engine.max_waiting_per_key", "", "Of one key, so that no key fills the queue",
     +[](ServeConfig& c) -> int& { return c.scheduler.max_waiting_per_key; }, 1, 1 << 20},
    {"engine.prompt_tokens", "--prompt-tokens",
     "Tokens of prompts that enter in a step for each running answer, in turns between keys: fewer "
     "= steadier streams, more = earlier first tokens",
     +[](ServeConfig& c) -> int& { return c.scheduler.prompt_tokens; }, 1, 1 << 20},
    {"engine.max_prompt_tokens", "",
     "At most in a step; as many as this while no answer is running",
     +[](ServeConfig& c) -> int& { return c.scheduler.max_prompt_tokens; }, 1, 1 << 20},
    {"engine.quantum", "", "Every token takes a whole multiple of this; 0: as long as it takes",
     +[](ServeConfig& c) -> nanoseconds& { return c.scheduler.quantum; }},
    {"cache.bytes_per_key", "",
     "Answers given again, free; in memory, for each API key apart; 0: off",
     +[](ServeConfig& c) -> std::size_t& { return c.cache_bytes_per_key; }, 0, 0x7fffffff},
    {"cache.prefix_tokens_per_key", "",
     "Of prompts, kept by the models for those of the key that begin alike; 0: off",
     +[](ServeConfig& c) -> int& { return c.prefix_tokens_per_key; }, 0, 1 << 20},
    {.path = "predictor.predictor",
     .flag = "--predictor",
     .help = "What runs the models: cpu, or external:SOCKET, the process that listens there",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.predictor; },
     .accepts = workbench::IsPredictor,
     .expected = workbench::kPredictorNames},
    {.path = "predictor.precision",
     .help = "Of the weights",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.precision; },
     .words =
         +[] {
           return std::vector<std::string>{"bf16", "f32", "int8", "int4"};
         }},
    {.path = "predictor.kv_cache",
     .help = "int8: half the memory for keys and values of contexts",
     .field = +[](ServeConfig& c) -> std::string& { return c.predictor.kv_cache; },
     .words =
         +[] {
           return std::vector<std::string>{"auto", "int8"};
         }},
    {"predictor.threads", "", "0: all cores",
     +[](ServeConfig& c) -> int& { return c.predictor.threads; }, 0, 1'024},
    {"log.requests", "", "One line a request: counts and times, never text",
     +[](ServeConfig& c) -> bool& { return c.log_requests; }},
    {"operator.host", "", "",
     +[](ServeConfig& c) -> std::string& { return c.operator_server->listener.host; }},
    {"operator.port", "", "",
     +[](ServeConfig& c) -> int& { return c.operator_server->listener.port; }, 0, 65'535},
    {.path = "operator.unix_socket",
     .field =
         +[](ServeConfig& c) -> std::string& { return c.operator_server->listener.unix_socket; },
     .example = "\"/run/submix/operator.sock\""},
    {.path = "operator.key_file",
     .help = "At least 16 bytes, mode 0600",
     .field = +[](ServeConfig& c) -> std::string& { return c.operator_key_file; },
     .example = "\"/etc/submix/operator.key\""},
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

// What clients of the server see: tokens a second, time to the first token and between tokens, for
// few and many streaming clients, and where the time goes; and with --prompts, what a stream sees
// while another key's long prompts enter. A real server on 127.0.0.1, a durable SQLite ledger, the
// bundled model with random adapters. One JSON object a line.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/chat/chat_format.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/scheduler.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/model/lora_adapter.h"
#include "submix/server/http_server.h"
#include "submix/server/testing/raw_client.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kPatience{10};

struct Settings {
  std::string model = "data/public_model";
  int parts = 16;
  std::vector<int> clients = {1, 4, 16, 64};
  double seconds = 10;
  int max_tokens = 32;
  int prompts = 0;
  int prompt_length = 511;
  engine::SchedulerOptions scheduler;
  std::string directory = ".";
  bool json = false;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Adds up the time of calls.
class CallTimer {
 public:
  template <typename Call>
  auto Time(const Call& call) {
    const auto start = Clock::now();
    auto result = call();
    nanoseconds_ += std::chrono::nanoseconds(Clock::now() - start).count();
    return result;
  }
  double seconds() const { return static_cast<double>(nanoseconds_) * 1e-9; }

 private:
  std::atomic<std::int64_t> nanoseconds_ = 0;
};

class TimedPredictor final : public ensemble::Predictor {
 public:
  explicit TimedPredictor(std::unique_ptr<ensemble::Predictor> predictor)
      : predictor_(std::move(predictor)) {}
  int num_members() const override { return predictor_->num_members(); }
  int vocab_size() const override { return predictor_->vocab_size(); }
  int context_length() const override { return predictor_->context_length(); }
  void ForEach(int count, const std::function<void(int)>& body) override {
    predictor_->ForEach(count, body);
  }
  ensemble::SequenceId Open() override { return predictor_->Open(); }
  void Close(ensemble::SequenceId sequence) override { predictor_->Close(sequence); }
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    return timer_.Time([&] { return predictor_->Step(appends, logits); });
  }
  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    return predictor_->Score(tokens, first, sink);
  }
  double seconds() const { return timer_.seconds(); }

 private:
  const std::unique_ptr<ensemble::Predictor> predictor_;
  CallTimer timer_;
};

class TimedLedger final : public ledger::Ledger {
 public:
  explicit TimedLedger(ledger::Ledger& ledger) : ledger_(ledger) {}
  base::StatusOr<std::vector<ledger::Receipt>> Charge(
      std::span<const ledger::ChargeRequest> step) override {
    return timer_.Time([&] { return ledger_.Charge(step); });
  }
  base::StatusOr<std::vector<ledger::Account>> Accounts() const override {
    return ledger_.Accounts();
  }
  base::StatusOr<Head> head() const override { return ledger_.head(); }
  base::Status Verify() const override { return ledger_.Verify(); }
  double seconds() const { return timer_.seconds(); }

 private:
  ledger::Ledger& ledger_;
  CallTimer timer_;
};

base::StatusOr<std::string> WriteAdapter(const model::DecoderConfig& config,
                                         const std::string& directory) {
  model::LoraAdapter adapter;
  adapter.config.rank = 8;
  adapter.config.layers = {config.layers - 2, config.layers - 1};
  SUBMIX_ASSIGN_OR_RETURN(adapter.modules, model::AdaptedModules(config, adapter.config));
  const auto random = base::MakeSystemRandomSource();
  const auto fill = [&](std::vector<float>& values, int rows, int columns) {
    values.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (float& value : values) {
      value = 0.02f * (static_cast<float>(random->NextUint64() >> 40) * 0x1p-23f - 1);
    }
  };
  for (model::LoraModule& module : adapter.modules) {
    fill(module.a, adapter.config.rank, module.inputs);
    fill(module.b, adapter.config.rank, module.outputs);
  }
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(model::SaveLoraAdapter(adapter, config, directory));
  return directory;
}

// What a client measures.
struct Latencies {
  std::mutex mutex;
  std::vector<double> first;    // s to the first token
  std::vector<double> between;  // s between tokens
  std::int64_t tokens = 0;
  std::int64_t failures = 0;
};

// One streamed completion; each token counts for what is current then. Every SSE event but the last
// is a token's, and comes in one piece.
void Ask(int port, const std::string& key, const Settings& settings,
         const std::atomic<Latencies*>& current) {
  constexpr std::string_view kTokenEvent = "data: {";
  const auto start = Clock::now();
  auto last = start;
  bool is_first = true;
  std::string answer;
  std::size_t seen = 0;
  server::RawClient client(port);
  client.Send(server::RequestText(
      "POST", "/v1/completions",
      "{\"model\":\"benchmark\",\"prompt\":\"My lord, the king\",\"stream\":true,"
      "\"max_tokens\":" +
          std::to_string(settings.max_tokens) + "}",
      key));
  for (std::string bytes = client.Read(kPatience); !bytes.empty(); bytes = client.Read(kPatience)) {
    answer += bytes;
    for (std::size_t at = answer.find(kTokenEvent, seen); at != std::string::npos;
         at = answer.find(kTokenEvent, seen)) {
      seen = at + kTokenEvent.size();
      const auto now = Clock::now();
      Latencies& all = *current;
      const std::lock_guard lock(all.mutex);
      ++all.tokens;
      auto& gaps = std::exchange(is_first, false) ? all.first : all.between;
      gaps.push_back(std::chrono::duration<double>(now - last).count());
      last = now;
    }
  }
  if (answer.starts_with("HTTP/1.1 200 ") && !is_first) return;
  Latencies& all = *current;
  const std::lock_guard lock(all.mutex);
  ++all.failures;
}

double Quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto index = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index),
                   values.end());
  return values[index];
}

struct Spent {
  double models = 0, ledger = 0, steps = 0;  // s
};

void Print(const Settings& settings, int clients, double wall, Latencies& all, const Spent& spent) {
  const double mechanism = spent.steps - spent.models - spent.ledger;
  std::printf(
      settings.json
          ? "{\"clients\":%d,\"parts\":%d,\"tokens_per_s\":%.1f,\"first_token_ms_p50\":%.2f,"
            "\"first_token_ms_p99\":%.2f,\"between_tokens_ms_p50\":%.2f,"
            "\"between_tokens_ms_p99\":%.2f,\"share_models\":%.3f,\"share_mechanism\":%.3f,"
            "\"share_ledger\":%.3f,\"share_http_and_idle\":%.3f,\"failures\":%lld}\n"
          : "%3d clients, %d parts: %.1f tokens/s; first token %.1f ms (p99 %.1f), between tokens "
            "%.1f ms (p99 %.1f); models %.2f, mechanism %.2f, ledger %.2f, HTTP and idle %.2f of "
            "the time; %lld failures\n",
      clients, settings.parts, static_cast<double>(all.tokens) / wall,
      1e3 * Quantile(all.first, 0.5), 1e3 * Quantile(all.first, 0.99),
      1e3 * Quantile(all.between, 0.5), 1e3 * Quantile(all.between, 0.99), spent.models / wall,
      mechanism / wall, spent.ledger / wall, 1 - spent.steps / wall,
      static_cast<long long>(all.failures));
  std::fflush(stdout);
}

// Everything behind the address.
class Service {
 public:
  Service(const Settings& settings, const WorkDirectory& work)
      : settings_(settings), work_(work), keys_(work.File("")) {}

  base::Status Start() {
    SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(work_.File("")));
    SUBMIX_ASSIGN_OR_RETURN(tokenizer_, tokenizer::Tokenizer::Load(settings_.model));
    SUBMIX_RETURN_IF_ERROR(LoadModels());
    SUBMIX_RETURN_IF_ERROR(OpenLedger());
    mechanism::MechanismOptions options;
    options.name = "filtered-submix";
    options.num_parts = settings_.parts;
    options.target_leakage = 2.0 / 1024;
    SUBMIX_ASSIGN_OR_RETURN(mechanism_, mechanism::MakeMechanism(options));
    SUBMIX_ASSIGN_OR_RETURN(
        auto core, engine::EngineCore::Create({predictor.get(), mechanism_.get(), ledger.get(),
                                               tokenizer_.get(), random_.get()}));
    SUBMIX_ASSIGN_OR_RETURN(scheduler,
                            engine::Scheduler::Start(std::move(core), settings_.scheduler));
    server::HttpServerOptions server_options;
    server_options.model = "benchmark";
    server_options.parse.max_choices = 1024;
    SUBMIX_ASSIGN_OR_RETURN(server_options.chat_format,
                            chat::ChatFormat::Load(settings_.model, "plain", *tokenizer_));
    SUBMIX_ASSIGN_OR_RETURN(http, server::HttpServer::Start(server_options, *scheduler, &keys_));
    return base::OkStatus();
  }

  base::StatusOr<std::string> MakeKey(const std::string& name) {
    SUBMIX_ASSIGN_OR_RETURN(const auto key, keys_.Create(name, {}));
    return key.secret;
  }

  std::unique_ptr<TimedPredictor> predictor;
  std::unique_ptr<TimedLedger> ledger;
  std::unique_ptr<engine::Scheduler> scheduler;
  std::unique_ptr<server::HttpServer> http;

 private:
  base::Status LoadModels() {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadDecoderConfig(
                                                   base::JoinPath(settings_.model, "config.json")));
    decode::CpuPredictorOptions options;
    options.public_directory = settings_.model;
    for (int part = 0; part < settings_.parts; ++part) {
      SUBMIX_ASSIGN_OR_RETURN(const auto directory,
                              WriteAdapter(config, work_.File("member" + std::to_string(part))));
      options.member_directories.push_back(directory);
    }
    SUBMIX_ASSIGN_OR_RETURN(auto models, decode::CpuPredictor::Load(options));
    predictor = std::make_unique<TimedPredictor>(std::move(models));
    return base::OkStatus();
  }

  base::Status OpenLedger() {
    const ledger::DurableLedgerOptions options{
        work_.File("ledger.sqlite"), work_.File("anchor"), {}};
    std::vector<ledger::Account> accounts;
    for (int part = 0; part < settings_.parts; ++part) {
      accounts.push_back(
          {"part " + std::to_string(part), accounting::FixedNats::RoundDown(8000), {}});
    }
    SUBMIX_RETURN_IF_ERROR(ledger::DurableLedger::Create(options, accounts, "2"));
    SUBMIX_ASSIGN_OR_RETURN(durable_, ledger::DurableLedger::Open(options));
    ledger = std::make_unique<TimedLedger>(*durable_);
    return base::OkStatus();
  }

  const Settings& settings_;
  const WorkDirectory& work_;
  engine::ApiKeys keys_;
  const std::unique_ptr<base::RandomSource> random_ = base::MakeSystemRandomSource();
  std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  std::unique_ptr<ledger::Ledger> durable_;
  std::unique_ptr<mechanism::Mechanism> mechanism_;
};

void MeasureClients(const Settings& settings, Service& service, const std::string& key) {
  for (const int clients : settings.clients) {
    Latencies all;
    const std::atomic<Latencies*> current = &all;
    const Spent before{service.predictor->seconds(), service.ledger->seconds(),
                       service.scheduler->counters().steps.sum_seconds()};
    const auto start = Clock::now();
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client) {
      threads.emplace_back([&] {
        while (SecondsSince(start) < settings.seconds) {
          Ask(service.http->port(), key, settings, current);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double wall = SecondsSince(start);
    Print(settings, clients, wall, all,
          {service.predictor->seconds() - before.models, service.ledger->seconds() - before.ledger,
           service.scheduler->counters().steps.sum_seconds() - before.steps});
  }
}

// One call of many prompts of random tokens, one token each. Returns its seconds; 0: it failed.
double AskPrompts(int port, const std::string& key, const Settings& settings) {
  const auto random = base::MakeSystemRandomSource();
  std::string body = "{\"model\":\"benchmark\",\"max_tokens\":1,\"prompt\":[";
  for (int prompt = 0; prompt < settings.prompts; ++prompt) {
    for (int token = 0; token < settings.prompt_length; ++token) {
      body += (token > 0    ? ","
               : prompt > 0 ? ",["
                            : "[") +
              std::to_string(1 + random->NextUint64() % 255);
    }
    body += "]";
  }
  server::RawClient client(port);
  const auto start = Clock::now();
  client.Send(server::RequestText("POST", "/v1/completions", body + "]}", key));
  const std::string answer = client.ReadAll(kPatience);
  return answer.starts_with("HTTP/1.1 200 ") ? SecondsSince(start) : 0;
}

// MiB that the process has in memory.
double ResidentMib() {
  std::ifstream file("/proc/self/statm");
  double pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void MeasurePrompts(const Settings& settings, Service& service, const std::string& key,
                    const std::string& other) {
  const int port = service.http->port();
  const double before = ResidentMib();
  const double alone = AskPrompts(port, other, settings);
  Latencies warm_up, quiet, beside, after;
  std::atomic<Latencies*> current = &warm_up;
  std::atomic<bool> is_over = false;
  std::thread stream([&] {
    while (!is_over) Ask(port, key, settings, current);
  });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  current = &quiet;
  std::this_thread::sleep_for(std::chrono::duration<double>(settings.seconds));
  current = &beside;
  const double seconds = AskPrompts(port, other, settings);
  current = &after;
  is_over = true;
  stream.join();
  const double tokens = settings.prompts * static_cast<double>(settings.prompt_length);
  std::printf(
      settings.json
          ? "{\"prompts\":%d,\"prompt_length\":%d,\"parts\":%d,\"prompt_tokens\":%d,"
            "\"max_prompt_tokens\":%d,\"alone_prompt_tokens_per_s\":%.0f,"
            "\"beside_prompt_tokens_per_s\":%.0f,\"quiet_gap_ms_p50\":%.2f,"
            "\"quiet_gap_ms_worst\":%.2f,\"beside_gap_ms_p50\":%.2f,\"beside_gap_ms_p99\":%.2f,"
            "\"beside_gap_ms_worst\":%.2f,\"beside_first_ms_worst\":%.2f,"
            "\"resident_mib_more\":%.0f}\n"
          : "%d prompts of %d tokens, %d parts, %d an answer and step, at most %d: alone %.0f "
            "prompt tokens/s, "
            "beside a stream %.0f; between the stream's tokens %.1f ms (worst %.1f), beside the "
            "prompts %.1f ms (p99 %.1f, worst %.1f), first token at worst %.1f; %.0f MiB more\n",
      settings.prompts, settings.prompt_length, settings.parts, settings.scheduler.prompt_tokens,
      settings.scheduler.max_prompt_tokens, alone > 0 ? tokens / alone : 0,
      seconds > 0 ? tokens / seconds : 0, 1e3 * Quantile(quiet.between, 0.5),
      1e3 * Quantile(quiet.between, 1), 1e3 * Quantile(beside.between, 0.5),
      1e3 * Quantile(beside.between, 0.99), 1e3 * Quantile(beside.between, 1),
      1e3 * Quantile(beside.first, 1), ResidentMib() - before);
  std::fflush(stdout);
}

base::Status Measure(const Settings& settings) {
  const WorkDirectory work("server_benchmark", settings.directory);
  Service service(settings, work);
  SUBMIX_RETURN_IF_ERROR(service.Start());
  SUBMIX_ASSIGN_OR_RETURN(const std::string key, service.MakeKey("streams"));
  SUBMIX_ASSIGN_OR_RETURN(const std::string other, service.MakeKey("prompts"));
  if (settings.prompts > 0) {
    MeasurePrompts(settings, service, key, other);
  } else {
    MeasureClients(settings, service, key);
  }
  service.http->Stop(Clock::now());
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Streams from a server on 127.0.0.1 by many clients; what they see."};
  app.add_option("--model", settings.model, "a Hugging Face GPT-2 directory");
  app.add_option("--parts", settings.parts, "random adapters, one a part")
      ->check(CLI::PositiveNumber);
  app.add_option("--clients", settings.clients, "at a time; one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds, "that clients go on asking");
  app.add_option("--max-tokens", settings.max_tokens, "a request")->check(CLI::PositiveNumber);
  app.add_option("--directory", settings.directory, "where the ledger is written");
  app.add_option("--prompts", settings.prompts,
                 "of one call beside one stream, in place of --clients");
  app.add_option("--prompt-length", settings.prompt_length, "tokens of each")
      ->check(CLI::PositiveNumber);
  app.add_option("--prompt-tokens", settings.scheduler.prompt_tokens,
                 "that enter in a step for each running answer");
  app.add_option("--max-prompt-tokens", settings.scheduler.max_prompt_tokens,
                 "that enter in a step at most");
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  const base::Status status = Measure(settings);
  if (status.ok()) return 0;
  std::fprintf(stderr, "server_benchmark: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }

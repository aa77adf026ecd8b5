// A step of the private sampler, from logits to tokens that are durably paid for: maps, mechanism,
// one synced transaction, draws. What `import submix` is measured against (python_overhead.py). One
// JSON object a line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/base/worker_team.h"
#include "submix/engine/private_sampler.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/mechanism/declaring/recommended_options.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  int parts = 16;
  int vocabulary = 50257;
  std::vector<int> sequences = {1, 64};
  int steps = 40;
  std::string directory = ".";
  bool json = false;
};

base::StatusOr<std::unique_ptr<ledger::DurableLedger>> MakeLedger(const std::string& directory,
                                                                  int num_parts) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  const ledger::DurableLedgerOptions options{
      base::JoinPath(directory, "ledger.sqlite"), base::JoinPath(directory, "anchor"), {}};
  std::vector<ledger::Account> accounts;
  for (int part = 0; part < num_parts; ++part) {
    accounts.push_back(
        {"part " + std::to_string(part), accounting::FixedNats::RoundDown(1000), {}});
  }
  SUBMIX_RETURN_IF_ERROR(ledger::DurableLedger::Create(options, accounts, "2"));
  return ledger::DurableLedger::Open(options);
}

base::StatusOr<std::unique_ptr<mechanism::Mechanism>> MakeFilteredSubmix(int num_parts) {
  mechanism::MechanismOptions options;
  options.num_parts = num_parts;
  options.order = mechanism::RecommendedOrder();
  options.target_leakage = 1e-3;
  mechanism::Recommend(num_parts, 1024, options);
  return mechanism::MakeMechanism(options);
}

// [1 + parts, vocabulary].
std::vector<float> Logits(const Settings& settings) {
  std::vector<float> logits(static_cast<std::size_t>(settings.parts + 1) *
                            static_cast<std::size_t>(settings.vocabulary));
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  for (float& logit : logits) logit = normal(generator);
  return logits;
}

base::Status Measure(const Settings& settings, int num_sequences) {
  const WorkDirectory directory("sampler_benchmark", settings.directory);
  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, MakeLedger(directory.path(), settings.parts));
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, MakeFilteredSubmix(settings.parts));
  const auto random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(const auto sampler,
                          engine::PrivateSampler::Create(
                              {mechanism.get(), ledger.get(), random.get()}, settings.parts));
  const std::vector<float> logits = Logits(settings);
  const std::span<const float> all(logits);
  const auto vocabulary = static_cast<std::size_t>(settings.vocabulary);
  const std::vector<engine::Prediction> step(
      static_cast<std::size_t>(num_sequences),
      {all.first(vocabulary), all.subspan(vocabulary), mechanism::SamplingOptions()});
  base::WorkerTeam team(static_cast<int>(std::thread::hardware_concurrency()));
  const auto for_each = [&](int count, const std::function<void(int)>& body) {
    team.ForEach(count, body);
  };
  std::vector<double> seconds;
  for (int i = 0; i < settings.steps; ++i) {
    const auto start = Clock::now();
    SUBMIX_RETURN_IF_ERROR(sampler->Sample(step, for_each).status());
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  std::printf(settings.json
                  ? "{\"benchmark\":\"sampler\",\"rows\":%d,\"vocabulary\":%d,\"sequences\":%d,"
                    "\"steps\":%zu,\"step_ms\":%.4f,\"step_ms_p90\":%.4f}\n"
                  : "%d rows, V = %d, %d sequences, %zu steps: a step takes %.3f ms (median), "
                    "%.3f (90%%)\n",
              1 + settings.parts, settings.vocabulary, num_sequences, seconds.size(),
              1e3 * seconds[seconds.size() / 2], 1e3 * seconds[seconds.size() * 9 / 10]);
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times filtered-submix with a ledger on the disk, given the logits."};
  app.add_option("--parts", settings.parts, "of one member")->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", settings.vocabulary, "tokens")->check(CLI::PositiveNumber);
  app.add_option("--sequences", settings.sequences, "in a step, one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", settings.steps, "steps timed")->check(CLI::PositiveNumber);
  app.add_option("--directory", settings.directory, "on the disk to measure")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  for (const int num_sequences : settings.sequences) {
    const base::Status status = Measure(settings, num_sequences);
    if (!status.ok()) {
      std::fprintf(stderr, "sampler_benchmark: %s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }

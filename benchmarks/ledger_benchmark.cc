// How long a durable charge takes, fsyncs included: one JSON object a line.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "benchmarks/work_directory.h"
#include "submix/base/file_system.h"
#include "submix/ledger/durable_ledger.h"

namespace submix {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::vector<int> parts = {8};
  std::vector<int> sequences = {1, 64};
  int steps = 400;
  double seconds = 0;  // instead of steps, if it is not 0
  std::string directory = ".";
  std::string database;
  bool join = false;
  bool json = false;
};

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

base::Status CreateLedger(const ledger::DurableLedgerOptions& options, int num_parts) {
  std::vector<ledger::Account> accounts;
  for (int part = 0; part < num_parts; ++part) {
    accounts.push_back(
        {"part " + std::to_string(part), accounting::FixedNats::RoundDown(1000), {}});
  }
  return ledger::DurableLedger::Create(options, accounts, "2");
}

base::StatusOr<std::unique_ptr<ledger::DurableLedger>> OpenLedger(const std::string& directory,
                                                                  const Settings& settings,
                                                                  int num_parts) {
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  const ledger::DurableLedgerOptions options{
      settings.database.empty() ? base::JoinPath(directory, "ledger.sqlite") : settings.database,
      base::JoinPath(directory, "anchor"),
      {}};
  // Who joins has an anchor of its own, as a server on a host of its own.
  SUBMIX_RETURN_IF_ERROR(settings.join ? ledger::DurableLedger::RestoreAnchor(options)
                                       : CreateLedger(options, num_parts));
  return ledger::DurableLedger::Open(options);
}

// The seconds of each step, sorted.
base::StatusOr<std::vector<double>> TimeSteps(ledger::Ledger& ledger, const Settings& settings,
                                              int num_parts, int num_sequences) {
  const std::vector<accounting::FixedNats> charges(static_cast<std::size_t>(num_parts),
                                                   accounting::FixedNats::RoundUp(1e-4));
  std::vector<double> seconds;
  std::uint64_t number = 0;
  const auto begin = Clock::now();
  while (settings.seconds > 0 ? seconds.empty() || SecondsSince(begin) < settings.seconds
                              : seconds.size() < static_cast<std::size_t>(settings.steps)) {
    std::vector<ledger::ChargeRequest> step;
    for (int sequence = 0; sequence < num_sequences; ++sequence) {
      step.push_back({{1, number++}, accounting::ChargeRule::kPerPart, charges});
    }
    const auto start = Clock::now();
    SUBMIX_RETURN_IF_ERROR(ledger.Charge(step).status());
    seconds.push_back(SecondsSince(start));
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds;
}

base::Status Measure(const Settings& settings, int num_parts, int num_sequences) {
  const WorkDirectory directory("ledger_benchmark", settings.directory);
  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, OpenLedger(directory.path(), settings, num_parts));
  const auto start = Clock::now();
  SUBMIX_ASSIGN_OR_RETURN(const auto seconds,
                          TimeSteps(*ledger, settings, num_parts, num_sequences));
  const double total = SecondsSince(start);
  const double steps = static_cast<double>(seconds.size());
  std::printf(settings.json
                  ? "{\"benchmark\":\"ledger\",\"parts\":%d,\"sequences\":%d,\"steps\":%zu,"
                    "\"charges_per_second\":%.0f,\"step_ms\":%.4f,\"step_ms_p90\":%.4f,"
                    "\"step_ms_max\":%.4f}\n"
                  : "%d parts, %d sequences, %zu steps: %.0f charges/s; a step takes %.3f ms "
                    "(median), %.3f (90%%), %.3f (worst)\n",
              num_parts, num_sequences, seconds.size(), steps * num_sequences / total,
              1e3 * seconds[seconds.size() / 2], 1e3 * seconds[seconds.size() * 9 / 10],
              1e3 * seconds.back());
  return base::OkStatus();
}

int Run(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Times durable charges: each step is one transaction, synced to the disk."};
  app.add_option("--parts", settings.parts, "accounts, one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--sequences", settings.sequences, "tokens charged in a step, one line each")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", settings.steps, "steps timed")->check(CLI::PositiveNumber);
  app.add_option("--seconds", settings.seconds, "time as many steps as these take, not --steps")
      ->check(CLI::PositiveNumber);
  app.add_option("--directory", settings.directory, "on the disk to measure")
      ->check(CLI::ExistingDirectory);
  CLI::Option* database =
      app.add_option("--database", settings.database,
                     "postgresql://HOST/DATABASE, empty: measure a ledger there; one line only");
  app.add_flag("--join", settings.join,
               "charge the ledger that an earlier run with as many --parts has left in --database")
      ->needs(database);
  app.add_flag("--json", settings.json, "one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  for (const int num_parts : settings.parts) {
    for (const int num_sequences : settings.sequences) {
      const base::Status status = Measure(settings, num_parts, num_sequences);
      if (!status.ok()) {
        std::fprintf(stderr, "ledger_benchmark: %s\n", status.ToString().c_str());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace submix

int main(int argc, char** argv) { return submix::Run(argc, argv); }

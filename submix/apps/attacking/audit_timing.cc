// `submix audit timing`: what a client can tell by the clock, with and without padding.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/measuring/kept_measurement.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/engine/deployment.h"
#include "submix/eval/audits/timing_audit.h"
#include "submix/workbench/models/open_models.h"
#include "submix/workbench/scratch_directory.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

struct TimingOptions {
  std::string deployment;
  workbench::ModelOptions predictor;
  std::string work_directory;
  int pairs = 500;
  double quantum_ms = 0;
  bool json = false;
};

std::vector<std::vector<base::TokenId>> RandomPrompts(int vocab_size, base::RandomSource& random) {
  std::vector<std::vector<base::TokenId>> prompts(64);
  for (auto& prompt : prompts) {
    for (int i = 0; i < 16; ++i) {
      prompt.push_back(
          static_cast<base::TokenId>(random.NextBelow(static_cast<std::uint64_t>(vocab_size))));
    }
  }
  return prompts;
}

double Milliseconds(double seconds) { return seconds * 1e3; }

nlohmann::json ToJson(const eval::WelchResult& test) {
  return {{"difference_ms", Milliseconds(test.difference)},
          {"standard_error_ms", Milliseconds(test.standard_error)},
          {"t", test.t},
          {"degrees_of_freedom", test.degrees_of_freedom},
          {"p_value", test.p_value},
          {"detectable_difference_ms", Milliseconds(test.detectable_difference)}};
}

nlohmann::json ToJson(const eval::TimingComparison& comparison, double quantum_ms, int pairs) {
  return {{"first", comparison.first},
          {"second", comparison.second},
          {"quantum_ms", quantum_ms},
          {"pairs", pairs},
          {"first_median_ms", Milliseconds(comparison.first_median)},
          {"second_median_ms", Milliseconds(comparison.second_median)},
          {"all", ToJson(comparison.all)},
          {"without_slowest_tenth", ToJson(comparison.without_slowest)}};
}

void PrintTest(const char* name, const eval::WelchResult& test) {
  std::printf("  %-24s %+9.4f ms  t %+6.2f  p %6.4f  would see %.4f ms\n", name,
              Milliseconds(test.difference), test.t, test.p_value,
              Milliseconds(test.detectable_difference));
}

void Print(const eval::TimingComparison& comparison) {
  std::printf("%s, then %s:\nmedians %.3f and %.3f ms; the second takes longer by\n",
              comparison.first.c_str(), comparison.second.c_str(),
              Milliseconds(comparison.first_median), Milliseconds(comparison.second_median));
  PrintTest("all", comparison.all);
  PrintTest("without the slowest tenth", comparison.without_slowest);
}

void Print(const TimingOptions& options, const eval::TimingAuditResult& result, double quantum_ms) {
  if (quantum_ms > 0) {
    std::printf("\nTokens padded to whole multiples of %g ms, %d pairs each\n", quantum_ms,
                options.pairs);
  } else {
    std::printf("Without padding, %d pairs each\n", options.pairs);
  }
  Print(result.budgets);
  Print(result.contexts);
}

// Two comparisons without padding, then the two with it.
Status Report(const TimingOptions& options, const base::Sha256Digest& ensemble,
              const eval::TimingAuditResult& unpadded, const eval::TimingAuditResult& padded,
              double quantum_ms) {
  nlohmann::json rows = nlohmann::json::array();
  for (const auto* comparison : {&unpadded.budgets, &unpadded.contexts}) {
    rows.push_back(ToJson(*comparison, 0, options.pairs));
  }
  for (const auto* comparison : {&padded.budgets, &padded.contexts}) {
    rows.push_back(ToJson(*comparison, quantum_ms, options.pairs));
  }
  SUBMIX_ASSIGN_OR_RETURN(const eval::Measurement measurement,
                          MeasuredNow("audit timing",
                                      "Timing: " + std::to_string(options.pairs) +
                                          " pairs of requests for one token in each comparison",
                                      ensemble, rows.dump()));
  const std::string kept = KeepBesideDeployment(measurement, options.deployment);
  if (options.json) {
    for (const nlohmann::json& row : rows) std::printf("%s\n", row.dump().c_str());
    return base::OkStatus();
  }
  Print(options, unpadded, 0);
  Print(options, padded, quantum_ms);
  std::printf("\n%s", Paragraph(kept).c_str());
  for (const std::string& verdict : VerdictsInWords(measurement)) {
    std::printf("%s", Paragraph(verdict).c_str());
  }
  return base::OkStatus();
}

Status RunTimingAudit(const TimingOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto audited, engine::LoadDeploymentConfig(options.deployment));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble,
                          ensemble::OpenedEnsemble::Open(audited.ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, workbench::LoadTokenizer(ensemble));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          workbench::LoadEnsemble(options.predictor, *tokenizer, ensemble));
  const auto random = base::MakeSystemRandomSource();
  eval::TimingAuditPlan plan;
  plan.mechanism = audited.options.mechanism;
  plan.pairs = options.pairs;
  plan.prompts = RandomPrompts(predictor->vocab_size(), *random);
  base::ProgressBar progress("Timing", 4 * std::int64_t{options.pairs}, "pairs");
  const auto audit = [&](double quantum_ms) -> StatusOr<eval::TimingAuditResult> {
    SUBMIX_ASSIGN_OR_RETURN(const auto scratch,
                            workbench::MakeScratchDirectory("audit", options.work_directory));
    plan.work_directory = *scratch;
    plan.quantum = std::chrono::nanoseconds(std::llround(quantum_ms * 1e6));
    return eval::AuditTiming(*predictor, *tokenizer, plan, *random, progress);
  };
  SUBMIX_ASSIGN_OR_RETURN(const auto unpadded, audit(0));
  const double quantum_ms = options.quantum_ms > 0
                                ? options.quantum_ms
                                : std::ceil(1.5 * Milliseconds(unpadded.slowest_usual));
  SUBMIX_ASSIGN_OR_RETURN(const auto padded, audit(quantum_ms));
  progress.Finish();
  return Report(options, ensemble.fingerprint(), unpadded, padded, quantum_ms);
}

}  // namespace

void AddTimingAudit(CLI::App& audit, Action& action) {
  CLI::App& command = *audit.add_subcommand("timing", "What a client can tell by the clock");
  TimingOptions& options = SetAction<TimingOptions>(command, action, RunTimingAudit);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  AddModelFlags(command, options.predictor);
  flags.Add("--pairs", options.pairs, Between(10, 1'000'000), "Pairs of measurements a comparison");
  flags.Add("--quantum-ms", options.quantum_ms, kPositive,
            "What tokens are padded to in the second half; default: half as much again as nine "
            "tenths of the first half took");
  flags.Add("--work-directory", options.work_directory,
            "Where two ledgers are made for the audit, and removed: on the deployment's disk, to "
            "time its commits");
  flags.Add("--json", options.json, "One JSON object a comparison");
  command.footer(
      "Times requests for one token, as a client would, in pairs that follow each other at once:\n"
      "the same prompts with parts that can all pay and parts that cannot; and prompts at which\n"
      "the members agree with the public model or contradict it. Then again with padding.\n"
      "Welch's two-sided t-test says whether a difference is more than chance (p); 'would have\n"
      "seen' is the difference that it finds 4 times in 5 at a level of 5 %. Eight tests are\n"
      "made: take p below 0.006 seriously, and run it again. A busy machine blinds the test.\n"
      "The deployment's own ledger is not touched: nothing is charged. The result depends on the\n"
      "members: publishing it is a release outside the budget.\n"
      "Example: submix audit timing my_deployment --pairs 2000 --work-directory my_deployment");
}

}  // namespace submix::apps

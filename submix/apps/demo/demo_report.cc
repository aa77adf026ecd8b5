#include "submix/apps/demo/demo_report.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"

namespace submix::apps {
namespace {

void PrintRow(const char* name, double perplexity, const char* note) {
  std::printf("  %-44s %10.1f   %s\n", name, perplexity, note);
}

const eval::SettingResult& PrivateSetting(const DemoReport& report) {
  return report.evaluation.settings.front();
}

eval::KeptShare KeptShareOf(const DemoReport& report) {
  const eval::Baselines& baselines = report.evaluation.BaselinesOf(PrivateSetting(report));
  return eval::Kept(baselines.public_model, PrivateSetting(report).perplexity,
                    baselines.fine_tuned.front());
}

}  // namespace

void PrintPerplexityTable(const DemoReport& report) {
  const eval::SettingResult& setting = PrivateSetting(report);
  const eval::Baselines& baselines = report.evaluation.BaselinesOf(setting);
  const eval::KeptShare kept = KeptShareOf(report);
  std::printf("\n  %-44s %10s\n", "held-out speakers", "perplexity");
  PrintRow("public model", baselines.public_model.corpus(), "private: it never saw the text");
  PrintRow("one member alone (mean over members)", baselines.single.corpus(), "not private");
  PrintRow("ensemble of all members", baselines.ensemble.corpus(), "not private");
  PrintRow("fine-tuned on all private text", baselines.fine_tuned.front().corpus(), "not private");
  PrintRow(setting.setting.mechanism.name.c_str(), setting.perplexity.corpus(), "PRIVATE");
  std::printf(
      "\n  Kept %.0f %% of what non-private fine-tuning gains (%.0f to %.0f %% over %zu disjoint "
      "runs\n"
      "  of %lld answers), at epsilon = %g, order %s; the part that spent most spent %.3f.\n"
      "  %.1f private tokens a second.\n",
      100 * kept.value, 100 * kept.low, 100 * kept.high, baselines.public_model.runs.size(),
      static_cast<long long>(report.queries), setting.setting.epsilon,
      setting.setting.mechanism.order.ToString().c_str(), setting.epsilon_spent_max,
      report.private_tokens_per_second);
}

base::Status WriteSummary(const DemoReport& report, const std::string& path) {
  const eval::SettingResult& setting = PrivateSetting(report);
  const eval::Baselines& baselines = report.evaluation.BaselinesOf(setting);
  const eval::KeptShare kept = KeptShareOf(report);
  nlohmann::json order = setting.setting.mechanism.order.value();
  if (setting.setting.mechanism.order.is_infinite()) order = "inf";
  const nlohmann::json summary = {
      {"public_perplexity", baselines.public_model.corpus()},
      {"single_perplexity", baselines.single.corpus()},
      {"ensemble_perplexity", baselines.ensemble.corpus()},
      {"fine_tuned_perplexity", baselines.fine_tuned.front().corpus()},
      {"private_perplexity", setting.perplexity.corpus()},
      {"private_perplexity_runs", setting.perplexity.runs},
      {"kept", kept.value},
      {"kept_low", kept.low},
      {"kept_high", kept.high},
      {"mechanism", setting.setting.mechanism.name},
      {"unit", "part"},
      {"epsilon", setting.setting.epsilon},
      {"order", order},
      {"epsilon_spent_max", setting.epsilon_spent_max},
      {"queries", report.queries},
      {"parts", report.parts},
      {"plant_repetitions", report.plant_repetitions},
      {"secret_hits_non_private", report.extraction_non_private.hits},
      {"secret_hits_private", report.extraction_private.hits},
      {"secret_attempts", report.extraction_private.attempts},
      {"secret_extracted_non_private", report.extraction_non_private.extracted()},
      {"secret_extracted_private", report.extraction_private.extracted()},
      {"private_tokens_per_second", report.private_tokens_per_second}};
  return base::WriteFile(path, summary.dump(2) + "\n");
}

}  // namespace submix::apps

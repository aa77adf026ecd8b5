// `submix attack exposure`: how many bits of planted codes do likelihoods give away?
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_output.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/subcommands.h"
#include "submix/apps/flags.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/attacks/exposure.h"
#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct ExposureAttackOptions {
  TargetFlags target;
  OutputFlags output;
  eval::ExposureOptions exposure;
  std::string codes;
};

Json Row(const AttackedLaw& law, std::size_t code, const eval::Exposure& exposure) {
  Json row = ModelColumns(law);
  row["code"] = code + 1;
  row["bits"] = std::log2(exposure.codes);
  row["rank"] = exposure.rank;
  row["ranked"] = exposure.ranked;
  row["is_exact"] = exposure.is_enumerated;
  row["exposure"] = exposure.by_rank;
  row["extrapolated"] = exposure.by_skew_normal;
  row["fit_distance"] = exposure.fit_distance;
  return row;
}

StatusOr<std::int64_t> CodesToScore(const std::vector<eval::PlantedCode>& codes,
                                    const eval::ExposureOptions& options) {
  std::int64_t total = 0;
  for (const eval::PlantedCode& code : codes) {
    SUBMIX_ASSIGN_OR_RETURN(const std::int64_t count, eval::CodesToScore(code, options));
    total += count;
  }
  return total;
}

// One curve a model over epsilon: the mean over the codes.
eval::Figure MeanExposures(const std::vector<AttackedLaw>& laws, const Json& rows) {
  eval::Figure figure = {.name = "exposure",
                         .title = "Exposure of planted codes",
                         .x_label = "epsilon (nats at the order)",
                         .y_label = "mean exposure by rank (bits)",
                         .log_x = true};
  for (std::size_t i = 0; i < laws.size(); ++i) {
    double sum = 0;
    double count = 0;
    for (std::size_t row = i; row < rows.size(); row += laws.size()) {
      sum += rows[row]["exposure"].get<double>();
      ++count;
    }
    AddPoint(laws[i], sum / count, figure);
  }
  return figure;
}

Status RunExposure(const ExposureAttackOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto codes, eval::ReadPlantedCodes(options.codes));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t total, CodesToScore(codes, options.exposure));
  SUBMIX_ASSIGN_OR_RETURN(const AttackedModels models, LoadModels(options.target));
  AccountReport report;
  report.title = "Exposure: log2 of all codes less log2 of the planted one's rank, in bits";
  report.notes = {OperatorsNote(),
                  "Where one rank is as likely as another it is 1.4 on average; compare with "
                  "public. Each code is asked for under a fresh budget. If is_exact is false, the "
                  "rank is among a sample, and extrapolated is by a skew-normal law fitted to it: "
                  "as good as the fit (fit_distance is Kolmogorov and Smirnov's)."};
  base::ProgressBar progress("Scoring", total, "codes");
  for (std::size_t c = 0; c < codes.size(); ++c) {
    std::vector<std::shared_ptr<eval::TokenLaw>> laws;
    std::vector<eval::TokenLaw*> asked;
    for (const AttackedLaw& law : models.laws) {
      SUBMIX_ASSIGN_OR_RETURN(laws.emplace_back(), models.LawFor(law, codes[c]));
      asked.push_back(laws.back().get());
    }
    const auto random = eval::RepeatableDraws(options.target.seed, "exposure", c);
    SUBMIX_ASSIGN_OR_RETURN(
        const auto exposures,
        eval::MeasureExposure(*models.predictor, asked, *models.target.tokenizer, codes[c],
                              options.exposure, *random, [&] { progress.Advance(1); }));
    for (std::size_t i = 0; i < laws.size(); ++i) {
      report.rows.push_back(Row(models.laws[i], c, exposures[i]));
    }
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, MeanExposures(models.laws, report.rows));
}

}  // namespace

void AddExposureAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "exposure", "How many bits of planted codes do likelihoods give away? (Carlini and others)");
  ExposureAttackOptions& options = SetAction<ExposureAttackOptions>(command, action, RunExposure);
  Flags flags(command);
  options.target.takes_members = true;
  AddTargetFlags(command, options.target);
  AddCodesFlag(command, options.codes);
  flags.Add("--alphabet", options.exposure.alphabet,
            "Characters of a code that might have been others; the rest of it is known");
  flags.Add("--enumerate-up-to", options.exposure.enumerate_up_to, kPositive,
            "So many codes are all ranked; of more, a sample is");
  flags.Add("--samples", options.exposure.samples, Between(8, 100000000), "Codes of a sample");
  AddOutputFlags(command, options.output, "mean exposure over epsilon");
  command.footer(
      "Example: submix attack exposure my_ensemble --codes codes.jsonl \\\n             --against "
      "members,filtered-submix,public");
}

}  // namespace submix::apps

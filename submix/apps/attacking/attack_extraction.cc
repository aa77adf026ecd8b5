// `submix attack extraction`: do completions give planted codes away?
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_output.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/subcommands.h"
#include "submix/apps/flags.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/attacks/extraction.h"
#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct ExtractionOptions {
  TargetFlags target;
  OutputFlags output;
  std::string codes;
  std::vector<std::string> decoding = {"sampled"};
  int attempts = 100;
};

struct Attacked {
  std::int64_t codes = 0;
  std::int64_t extracted = 0;
  std::int64_t attempts = 0;
  std::int64_t hits = 0;
};

// Every code under a fresh budget, so that all of it is spent on that code.
StatusOr<Attacked> Attack(const std::vector<eval::PlantedCode>& codes,
                          const ExtractionOptions& options, bool greedy,
                          const AttackedModels& models, const AttackedLaw& attacked,
                          base::ProgressBar& progress) {
  Attacked sum;
  for (const eval::PlantedCode& code : codes) {
    SUBMIX_ASSIGN_OR_RETURN(const auto law, models.LawFor(attacked, code));
    SUBMIX_RETURN_IF_ERROR(law->Renew());
    const auto random = eval::RepeatableDraws(options.target.seed, "extraction",
                                              static_cast<std::uint64_t>(sum.codes));
    eval::ExtractionAttack attack = {.prompt = code.prompt, .secret = code.secret};
    attack.attempts = options.attempts;
    attack.greedy = greedy;
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::ExtractionResult result,
        eval::Extract(*models.predictor, *law, *models.target.tokenizer, attack, *random));
    ++sum.codes;
    sum.extracted += result.extracted() ? 1 : 0;
    sum.attempts += result.attempts;
    sum.hits += result.hits;
    progress.Advance(1);
  }
  return sum;
}

Json Row(const AttackedLaw& law, const std::string& decoding, const Attacked& attacked) {
  Json row = ModelColumns(law);
  row["decoding"] = decoding;
  row["codes"] = attacked.codes;
  row["extracted"] = attacked.extracted;
  row["extracted_share"] =
      static_cast<double>(attacked.extracted) / static_cast<double>(attacked.codes);
  row["attempts"] = attacked.attempts;
  row["hits"] = attacked.hits;
  row["hit_rate"] = static_cast<double>(attacked.hits) / static_cast<double>(attacked.attempts);
  return row;
}

Status RunExtraction(const ExtractionOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const auto codes, eval::ReadPlantedCodes(options.codes));
  SUBMIX_ASSIGN_OR_RETURN(const AttackedModels models, LoadModels(options.target));
  AccountReport report;
  report.title = "Extraction: planted codes that " + std::to_string(options.attempts) +
                 " completions of their prompts contain";
  report.notes = {OperatorsNote(),
                  "Each code is attacked under a fresh budget. Greedy takes the likeliest token of "
                  "the mixture, which clients never see: a budget bounds probabilities, not which "
                  "token is likeliest."};
  eval::Figure figure = {.name = "extraction",
                         .title = "Planted codes extracted",
                         .x_label = "epsilon (nats at the order)",
                         .y_label = "share of codes extracted by sampling",
                         .log_x = true};
  base::ProgressBar progress(
      "Attacking",
      static_cast<std::int64_t>(codes.size() * models.laws.size() * options.decoding.size()),
      "codes");
  for (const AttackedLaw& law : models.laws) {
    for (const std::string& decoding : options.decoding) {
      SUBMIX_ASSIGN_OR_RETURN(const Attacked attacked,
                              Attack(codes, options, decoding == "greedy", models, law, progress));
      report.rows.push_back(Row(law, decoding, attacked));
      if (decoding == "sampled") {
        AddPoint(law, report.rows.back()["extracted_share"].get<double>(), figure);
      }
    }
  }
  progress.Finish();
  return Deliver(options.output, models.target, report, figure);
}

}  // namespace

void AddExtractionAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "extraction", "Do completions give planted codes away? (SubMix, section 4.2)");
  ExtractionOptions& options = SetAction<ExtractionOptions>(command, action, RunExtraction);
  Flags flags(command);
  options.target.takes_members = true;
  AddTargetFlags(command, options.target);
  AddCodesFlag(command, options.codes);
  flags.Add("--decoding", options.decoding, OneOf({"sampled", "greedy"}),
            "sampled, greedy, or both");
  flags.Add("--attempts", options.attempts, kPositive, "Completions drawn for each code");
  AddOutputFlags(command, options.output, "the share of codes extracted over epsilon");
  command.footer(
      "Example: submix attack extraction my_ensemble --codes codes.jsonl \\\n             "
      "--against members,filtered-submix,dclip --epsilon 1,2,4,8");
}

}  // namespace submix::apps

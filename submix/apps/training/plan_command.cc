// `submix plan`: which mechanism, how many parts, which budget, from public numbers alone.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/promise.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/shell_word.h"
#include "submix/base/number_text.h"
#include "submix/ensemble/training_cost.h"
#include "submix/eval/measuring/contenders.h"
#include "submix/eval/measuring/expected_share.h"
#include "submix/model/decoder_config.h"
#include "submix/workbench/training/measured_times.h"

namespace submix::apps {
namespace {

using accounting::PrivacyStatement;
using base::NumberText;
using base::Status;
using base::StatusOr;
using eval::Contender;
using eval::MeasuredModel;
using eval::Unknown;
using Json = nlohmann::ordered_json;

struct PlanOptions {
  std::optional<double> users;
  double tokens_a_user = 0;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> tokens;
  std::optional<double> kept;
  std::string public_model;
  std::optional<double> minutes;
  bool json = false;
};

constexpr double kWishedShare = 0.5;

// --- What is asked

// The question that is left open; none if there is none.
StatusOr<std::optional<Unknown>> UnknownOf(const PlanOptions& options) {
  std::vector<Unknown> unknowns;
  if (!options.users) unknowns.push_back(Unknown::kUsers);
  if (!options.epsilon) unknowns.push_back(Unknown::kEpsilon);
  if (!options.tokens) unknowns.push_back(Unknown::kTokens);
  if (unknowns.size() > 1) {
    return base::InvalidArgumentError(
        "two of --users, --epsilon and --tokens are needed, to find the third; or all three");
  }
  if (unknowns.empty() && options.kept) {
    return base::InvalidArgumentError(
        "--kept asks for what is left out: leave out --users, --epsilon or --tokens");
  }
  if (unknowns.empty()) return std::optional<Unknown>();
  return std::optional(unknowns.front());
}

// That which the public model is like; where none is named, the small one.
StatusOr<std::optional<MeasuredModel>> MeasuredModelOf(const std::string& directory) {
  if (directory.empty()) return std::optional(MeasuredModel::kSmallGpt2);
  SUBMIX_ASSIGN_OR_RETURN(const auto trained, ensemble::LoadTrainingCost(directory));
  if (trained) return std::optional<MeasuredModel>();  // nor above private training
  SUBMIX_ASSIGN_OR_RETURN(const auto config, model::LoadConfigOf(directory));
  return eval::MeasuredModelLike(config.family, config.layers, config.width);
}

StatusOr<std::vector<Contender>> Ask(const PlanOptions& options, std::optional<Unknown> unknown) {
  eval::PlanInput input;
  SUBMIX_ASSIGN_OR_RETURN(input.model, MeasuredModelOf(options.public_model));
  input.users = options.users.value_or(1);
  input.tokens_a_user = options.tokens_a_user;
  input.epsilon = options.epsilon.value_or(1);
  input.delta = options.delta.value_or(options.users ? eval::DeltaFor(*options.users)
                                                     : accounting::kDefaultDelta);
  input.tokens = static_cast<std::int64_t>(options.tokens.value_or(1));
  if (!unknown) return eval::Contenders(input);
  return eval::ContendersThatKeep(options.kept.value_or(kWishedShare), *unknown, input);
}

// --- What is answered

// The shortest text that reads back to the same number.
std::string ShortestText(double number) { return Json(number).dump(); }

std::string PromiseFlags(double epsilon, double delta) {
  return " --epsilon " + ShortestText(epsilon) + " --delta " + ShortestText(delta);
}

std::string DpSgdCommand(const Contender& contender, double epsilon, const std::string& model) {
  const eval::PlanInput& input = contender.input;
  std::string train = "submix train text.jsonl my_model --public " + model + " --private dp-sgd" +
                      PromiseFlags(epsilon, input.delta) + " --steps " +
                      std::to_string(contender.steps) + " --public-users " +
                      std::to_string(std::llround(input.users)) + " --expected-batch " +
                      ShortestText(contender.sampling_probability * input.users);
  if (contender.rank > 0) train += " --rank " + std::to_string(contender.rank);
  return train.append(contender.dp_sgd_recipe);
}

std::vector<std::string> CommandsOf(const Contender& contender, const std::string& public_model) {
  const eval::PlanInput& input = contender.input;
  std::string model = public_model.empty() ? "PUBLIC_MODEL" : ShellWord(public_model);
  if (!contender.is_ensemble()) {
    return {DpSgdCommand(contender, input.epsilon, model),
            "submix deploy my_model/released my_deployment --mechanism public --delta " +
                ShortestText(input.delta)};
  }
  std::vector<std::string> commands;
  if (contender.is_over_dp_sgd()) {
    commands.push_back(DpSgdCommand(contender, contender.training_epsilon, model));
    model = "my_model/released/public";
  }
  std::string train = "submix train text.jsonl my_ensemble --public " + model + " --parts " +
                      std::to_string(contender.parts);
  if (!contender.recipe.empty()) {
    train += contender.recipe;
  } else if (contender.passes == 3) {
    train += " --tokens-a-part " + std::to_string(std::llround(contender.tokens_a_part));
  }
  commands.push_back(train);
  commands.push_back("submix deploy my_ensemble my_deployment --mechanism " + contender.mechanism +
                     " --unit user" + PromiseFlags(input.epsilon, input.delta) + " --tokens " +
                     std::to_string(input.tokens));
  return commands;
}

Json NumberOrNull(std::optional<double> number) { return number ? Json(*number) : Json(); }

// To two decimals: more would pretend.
Json ShareJson(std::optional<double> share) {
  return share ? Json(std::round(*share * 100) / 100) : Json();
}

// To two digits, likewise.
Json TimeJson(double time) {
  const double unit = std::pow(10, std::floor(std::log10(time)) - 1);
  return Json(std::stod(NumberText(std::round(time / unit) * unit)));
}

// What was found out about the way to answer, beside the contender itself.
struct Known {
  std::optional<Unknown> unknown;  // what the row answers
  std::optional<eval::MachineTimes> times;
  std::string too_slow = "";  // not empty: nothing is trained in time
};

std::string NameOf(const Contender& contender) {
  return contender.mechanism + (contender.is_over_dp_sgd() ? " over dp-sgd" : "");
}

// What people and machines read.
Json RowOf(const Contender& contender, const Known& known) {
  const bool is_ensemble = contender.is_ensemble();
  Json row = {{"mechanism", NameOf(contender)},
              {"parts", is_ensemble ? Json(contender.parts) : Json()},
              {"passes", contender.passes}};
  if (known.unknown == Unknown::kUsers) row["users"] = contender.input.users;
  row["order"] = is_ensemble ? OrderJson(contender.order) : Json();
  row["clip"] = NumberOrNull(contender.clip);
  row["charge_rdp"] = is_ensemble ? Json(contender.target_leakage) : Json();
  row["answers"] = is_ensemble ? Json(contender.tokens) : Json("unlimited");
  row["part_epsilon"] = contender.is_over_dp_sgd() ? Json() : NumberOrNull(contender.part_epsilon);
  row["user_epsilon"] = contender.user_epsilon;
  row["tokens"] = std::llround(contender.tokens_a_part);
  row["kept"] = ShareJson(contender.expected_share);
  if (known.times) {
    row["train_minutes"] = TimeJson(eval::TrainingMinutes(*known.times, contender));
    row["ms_per_answer"] = TimeJson(eval::TokenMilliseconds(*known.times, contender));
  }
  return row;
}

void AddForMachines(const Contender& contender, const PlanOptions& options, Json& row) {
  const bool has_steps = contender.steps > 0;
  row["delta"] = contender.input.delta;
  row["sampling_probability"] = has_steps ? Json(contender.sampling_probability) : Json();
  row["noise_multiplier"] = has_steps ? Json(contender.noise_multiplier) : Json();
  row["steps"] = has_steps ? Json(contender.steps) : Json();
  row["training_epsilon"] = contender.is_over_dp_sgd() ? Json(contender.training_epsilon) : Json();
  row["commands"] = CommandsOf(contender, options.public_model);
}

// Of each mechanism that is in the rows.
LabelledColumns StatementsOf(const std::vector<Contender>& contenders) {
  const accounting::CountedRelease dclip = accounting::DclipRelease(2, 1, 1);
  const PrivacyStatement filtered = accounting::FilteredSubmixRelease(2, 1).statement;
  PrivacyStatement dp_sgd = accounting::DpSgdRelease(1, 1).statement;
  dp_sgd.unit = accounting::PrivacyUnit::kUserKey;
  const auto has = [&](const char* mechanism) {
    return std::ranges::find(contenders, mechanism, &Contender::mechanism) != contenders.end();
  };
  LabelledColumns columns;
  if (has("dclip")) {
    columns.push_back({"dclip: part epsilon", dclip.statement});
    columns.push_back({"dclip: user epsilon", UserStatement(dclip)});
  }
  if (has("filtered-submix")) {
    columns.push_back({"filtered-submix: part epsilon", filtered});
    columns.push_back({"filtered-submix: user epsilon", *UserLevelStatement(filtered)});
  }
  if (has("dp-sgd")) columns.push_back({"dp-sgd: user epsilon", dp_sgd});
  return columns;
}

std::string NoteOnKept(std::optional<MeasuredModel> model) {
  const std::string unranked =
      "such rows are not ranked, but come as private training, then ensembles whose answers may "
      "differ more from the public model's";
  if (!model) {
    return "kept: nothing is expected, for nothing was measured with a public model of this "
           "shape; " +
           unranked;
  }
  const auto off = [&](const char* mechanism) {
    return NumberText(eval::ErrorOfExpectedShare(*model, mechanism).elsewhere) + " (" + mechanism +
           ")";
  };
  return "kept: experience, not a promise: the share of what fine-tuning without privacy gains in "
         "perplexity; a law fitted to measurements with " +
         std::string(eval::NameOf(*model)) + ", which on another corpus was off by up to " +
         off("dclip") + " and " + off("filtered-submix") +
         "; -: outside what was measured: " + unranked;
}

std::vector<std::string> NotesOf(const std::vector<Contender>& contenders, const Known& known) {
  const eval::PlanInput& input = contenders.front().input;
  std::vector<std::string> notes = {
      "epsilons hold at delta " + NumberText(input.delta) +
          ", by the improved conversion from Renyi divergence at the best order (dclip, dp-sgd) or "
          "at the order of the row (filtered-submix)",
      NoteOnKept(input.model)};
  if (std::ranges::none_of(contenders, &Contender::is_ensemble)) {
    if (const std::string why = eval::WhyNoEnsemble(input); !why.empty()) notes.push_back(why);
  }
  if (std::ranges::any_of(contenders, &Contender::is_over_dp_sgd)) {
    notes.push_back(
        "over dp-sgd: user epsilon is that of training and answers together, for one user key "
        "present or absent: the sum of both losses at the best order (docs/privacy.md, Theorem "
        "15); at part level nothing follows");
  }
  if (known.times) {
    notes.push_back(
        "train_minutes, ms_per_answer: of this machine, measured once on random tokens (`submix "
        "cache --empty` forgets it); one answer at a time");
  }
  if (!known.too_slow.empty()) notes.push_back(known.too_slow);
  const std::string caution = accounting::DeltaCaution(input.delta, input.users);
  if (!caution.empty()) notes.push_back(caution);
  return notes;
}

void PrintCommands(const char* heading, const Contender& contender, const PlanOptions& options) {
  std::printf("\n%s\n", heading);
  for (const std::string& command : CommandsOf(contender, options.public_model)) {
    std::printf("  %s\n", command.c_str());
  }
}

// Whether the first may be called the best.
bool IsRanked(const std::vector<Contender>& contenders) {
  return contenders.front().expected_share.has_value();
}

void PrintBest(const std::vector<Contender>& contenders, bool is_ranked,
               const PlanOptions& options) {
  PrintCommands(is_ranked ? "The first:" : "For example the first:", contenders[0], options);
  if (contenders.size() > 1) PrintCommands("Or the second:", contenders[1], options);
  for (std::size_t i = 2; i < contenders.size(); ++i) {
    if (contenders[i].is_ensemble()) continue;
    PrintCommands("Or private training, for any number of tokens:", contenders[i], options);
  }
}

// Leaves out what trains for longer than --minutes; where that is all, nothing, and says so.
std::string LeaveInTime(double minutes, const eval::MachineTimes& times,
                        std::vector<Contender>& contenders) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Contender& contender : contenders) {
    shortest = std::min(shortest, eval::TrainingMinutes(times, contender));
  }
  if (shortest > minutes) {
    return "nothing is trained within " + NumberText(minutes) +
           " minutes on this machine, so all ways are shown; the shortest training takes " +
           NumberText(std::ceil(shortest));
  }
  std::erase_if(contenders, [&](const Contender& contender) {
    return eval::TrainingMinutes(times, contender) > minutes;
  });
  return "";
}

Status RunPlan(const PlanOptions& options) {
  Known known;
  SUBMIX_ASSIGN_OR_RETURN(known.unknown, UnknownOf(options));
  SUBMIX_ASSIGN_OR_RETURN(auto contenders, Ask(options, known.unknown));
  if (options.minutes) {
    SUBMIX_ASSIGN_OR_RETURN(known.times,
                            workbench::MeasureTimes(options.public_model, options.tokens_a_user));
    known.too_slow = LeaveInTime(*options.minutes, *known.times, contenders);
  }
  CommandReport report;
  const bool is_ranked = IsRanked(contenders);
  report.title = is_ranked
                     ? "Ways to answer, the best first"
                     : "Ways to answer; nothing like this was measured, so none is called best";
  report.statements = StatementsOf(contenders);
  report.notes = NotesOf(contenders, known);
  for (const Contender& contender : contenders) {
    Json row = RowOf(contender, known);
    if (options.json) AddForMachines(contender, options, row);
    report.rows.push_back(row);
  }
  PrintReport(report, options.json);
  if (!options.json) PrintBest(contenders, is_ranked, options);
  return base::OkStatus();
}

}  // namespace

void AddPlanCommand(CLI::App& command, Action& action) {
  PlanOptions& options = SetAction<PlanOptions>(command, action, RunPlan);
  Flags flags(command);
  flags.Add("--users", options.users, kCount,
            "Users whose text is trained on: an estimate that is public. Without: the fewest that "
            "keep --kept");
  flags.Require("--tokens-per-user", options.tokens_a_user, kPositive,
                "Of the public model's tokens, on average: an estimate that is public");
  flags.Add("--epsilon", options.epsilon, kPositive,
            "Promised to one user, with --delta. Without: the least that keeps --kept");
  flags.Add("--delta", options.delta, kDelta,
            "Default: the power of ten below a tenth of 1 / users; 1e-06 without --users");
  flags.Add("--tokens,--answers", options.tokens, kCount,
            "Tokens that the promise is for. Without: the most that keep --kept");
  flags.Add("--kept", options.kept, kProbability,
            "Wished share of what fine-tuning without privacy gains, where one of the three is "
            "left out; default: 0.5");
  flags.Add("--public", options.public_model, kDirectory,
            "The public model, for the commands; and was one like it measured?");
  flags
      .Add("--minutes", options.minutes, kPositive,
           "Leave out what trains for longer on this machine. Measures once, in about half a "
           "minute, "
           "what training and answering take, and keeps it")
      ->needs(command.get_option("--public"));
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "Reads no text: say what is public. Columns: parts of an ensemble; passes of training\n"
      "over the text; order and charge (nats at the order, a token) that the ensemble\n"
      "declares; clip, dclip's window in nats; tokens that every part can surely pay for;\n"
      "epsilons, at --delta; tokens a part; kept, the share of the non-private gain that is\n"
      "expected. --json says more.\n"
      "Example: submix plan --users 3600 --tokens-per-user 2400 --epsilon 8 --tokens 10240\n"
      "         submix plan --users 3600 --tokens-per-user 2400 --epsilon 8 --kept 0.6");
}

}  // namespace submix::apps

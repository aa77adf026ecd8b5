// `submix attack membership`: was this text part of the training? By what was served alone.
#include <array>
#include <cmath>
#include <string>

#include "submix/accounting/rdp_conversion.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/neighbour_flags.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/number_text.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/eval/audits/roc_curve.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr std::array kFalsePositiveRates = {0.001, 0.01, 0.1};
constexpr double kError = 0.05;

struct MembershipOptions {
  TargetFlags target;
  workbench::NeighbourRequest neighbour;
  OutputFlags output;
  double delta = accounting::kDefaultDelta;
};

workbench::AttackedLaw LabelsOf(const workbench::AttackedMechanism& attacked,
                                const eval::ClaimedBounds& claim) {
  return {attacked.options.name,
          attacked.Guarantee(),
          claim.labels,
          attacked.options.order.ToString(),
          attacked.mechanism->is_private() ? attacked.epsilon : -1,
          nullptr};
}

void AddRows(const workbench::AttackedLaw& labels, const eval::RocCurve& curve,
             const eval::ClaimedBounds& claim, Json& rows) {
  const auto add = [&](const std::string& measure, double value, const Json& surely,
                       const Json& bound) {
    Json row = ModelColumns(labels);
    row["measure"] = measure;
    row["value"] = value;
    row["surely"] = surely;
    row["bound"] = bound;
    rows.push_back(row);
  };
  for (const double rate : kFalsePositiveRates) {
    add("TPR at FPR " + base::NumberText(rate), curve.TruePositivesAt(rate),
        curve.SureTruePositivesAt(rate, kError),
        Claimed(claim, eval::MostTruePositives(claim, rate)));
  }
  add("AUC", curve.area(), Json(), Claimed(claim, eval::MostArea(claim)));
  add("advantage", curve.advantage(), Json(), Claimed(claim, eval::MostAdvantage(claim)));
}

// The curve and the bound at rates that are evenly spaced in their logarithm.
void AddCurves(const workbench::AttackedLaw& labels, const eval::RocCurve& curve,
               const eval::ClaimedBounds& claim, eval::Figure& figure) {
  const std::string name = labels.ModelAndCost();
  eval::FigureCurve measured = {.name = name, .guarantee = labels.promise};
  eval::FigureCurve bound = {.name = name + ": bound", .guarantee = labels.promise};
  for (double log_rate = -3; log_rate < 0.05; log_rate += 0.1) {
    const double rate = std::min(std::pow(10, log_rate), 1.0);
    measured.points.push_back({.x = rate, .y = curve.TruePositivesAt(rate)});
    bound.points.push_back({.x = rate, .y = eval::MostTruePositives(claim, rate)});
  }
  figure.curves.push_back(measured);
  if (!claim.bounds.empty()) figure.curves.push_back(bound);
}

Status RunMembership(const MembershipOptions& options) {
  const workbench::AttackRequest request = options.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto target, workbench::LoadTarget(request));
  SUBMIX_ASSIGN_OR_RETURN(const auto games,
                          workbench::PlayGames(request, options.neighbour, target));
  CommandReport report;
  report.title = "Membership by " + std::to_string(request.tokens) +
                 " served tokens: the attacker who knows the models of both worlds";
  SUBMIX_ASSIGN_OR_RETURN(report.notes, NotesOnClaims(target));
  report.notes.push_back(
      "surely: what the transcripts show but for an error of 0.05; it must stay below the bound of "
      "the claim. value is measured on the same transcripts and may exceed either by chance.");
  eval::Figure figure = {.name = "membership",
                         .title = "Membership inference on served tokens",
                         .x_label = "false positive rate",
                         .y_label = "true positive rate",
                         .log_x = true,
                         .log_y = true};
  for (std::size_t i = 0; i < games.size(); ++i) {
    const workbench::AttackedMechanism& attacked = target.mechanisms[i];
    SUBMIX_ASSIGN_OR_RETURN(const eval::ClaimedBounds claim,
                            eval::ClaimOf(*attacked.mechanism, attacked.epsilon,
                                          UnitOf(options.neighbour), options.delta));
    const eval::RocCurve curve(games[i].with(), games[i].without());
    const workbench::AttackedLaw labels = LabelsOf(attacked, claim);
    AddRows(labels, curve, claim, report.rows);
    AddCurves(labels, curve, claim, figure);
    AddClaimNote(attacked, claim, report);
  }
  return Deliver(options.output, {"attack membership", request.directory, target}, report, figure);
}

}  // namespace

void AddMembershipAttack(CLI::App& attack, Action& action) {
  CLI::App& command = *attack.add_subcommand(
      "membership", "Tell from served tokens whether a part or a user was there");
  MembershipOptions& options = SetAction<MembershipOptions>(command, action, RunMembership);
  Flags flags(command);
  AddTargetFlags(command, options.target);
  AddNeighbourFlags(command, options.neighbour);
  flags.Add("--delta", options.delta, kDelta, "At which epsilon is compared");
  AddOutputFlags(command, options.output, "ROC curves beside the bounds of the claims");
  command.footer(
      "Example: submix attack membership my_ensemble --text users_own_words.txt --tokens 256 \\\n "
      "            --against filtered-submix,dclip,ensemble --ask most-telling");
}

}  // namespace submix::apps

#include "submix/apps/attacking/attack_target.h"

#include <algorithm>
#include <iterator>

#include "submix/apps/measuring/kept_measurement.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/file_system.h"
#include "submix/eval/pages/result_tables.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

}  // namespace

workbench::AttackRequest TargetFlags::Request() const {
  workbench::AttackRequest told = request;
  told.said = mechanism_flags.Said();
  return told;
}

void AddTargetFlags(Flags flags, TargetFlags& target) {
  workbench::AttackRequest& request = target.request;
  flags.Require("target", request.directory, kDirectory,
                "Directory of an ensemble (`submix train`), or of a deployment (`submix deploy`): "
                "its mechanism and budget are then attacked first");
  flags.Add(
      "--against", request.against,
      std::string("What is attacked, one or more: ") + mechanism::AnyMechanismNames() +
          (request.takes_members ? ", and members: the one that knows most, served as it is" : "") +
          ". Default: the deployment, or filtered-submix");
  flags.Add("--epsilon", request.epsilons, "One or more budgets of a part, nats");
  flags.Add("--tokens,--queries", request.tokens, kPositive,
            "Tokens that the budget is made for: the cap on one charge is epsilon / tokens");
  target.mechanism_flags.AddTo(flags, MechanismFlags::Takes::kOneValue);
  AddModelFlags(flags, request.predictor);
  flags.Add("--seed", request.seed, "Of all draws: the same command gives the same numbers");
}

// --- Where the numbers go

void AddTableFlags(Flags flags, OutputFlags& output) {
  flags.Add("--json", output.json, "One JSON object");
  flags.Add("--csv", output.csv, kOutputFile, "Also write the rows to this file");
}

void AddOutputFlags(Flags flags, OutputFlags& output, const std::string& drawn) {
  AddTableFlags(flags, output);
  flags.Add("--figures", output.figures, "Also write CSV and SVG to this directory: " + drawn);
}

Status Deliver(const OutputFlags& flags, const Attack& attack, const CommandReport& report,
               const eval::Figure& figure) {
  // The labels of claims are for machines; people read them once, in the notes.
  CommandReport for_people = report;
  for (Json& row : for_people.rows) row.erase(eval::kPromiseColumn);
  SUBMIX_ASSIGN_OR_RETURN(const eval::Measurement measurement,
                          MeasuredNow(attack.kind, report.title,
                                      attack.target.ensemble.fingerprint(), report.rows.dump()));
  const std::string kept = KeepBesideDeployment(measurement, attack.directory);
  if (!kept.empty()) for_people.notes.push_back(kept);
  std::ranges::copy(VerdictsInWords(measurement), std::back_inserter(for_people.notes));
  CommandReport for_machines = report;
  const std::string ensemble = base::ToHex(attack.target.ensemble.fingerprint());
  for (Json& row : for_machines.rows) row[eval::kEnsembleColumn] = ensemble;
  PrintReport(flags.json ? for_machines : for_people, flags.json);
  if (!flags.csv.empty()) {
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(flags.csv, TableCsv(for_machines.rows)));
  }
  if (flags.figures.empty() || figure.curves.empty()) return base::OkStatus();
  return eval::WriteFigure(figure, flags.figures);
}

void AddErrorFlag(Flags flags, double& error) {
  flags.Add("--error", error, Between(1e-12, 0.5), "Probability with which a bound may be wrong");
}

std::string UnlessItErrs(double error) {
  return " (or this is the one audit in " + std::to_string(static_cast<int>(1 / error)) +
         " that errs: try another --seed and a smaller --error)";
}

std::string OperatorsNote() {
  return "Operator's view, outside the budget: nothing was charged to a ledger. Publishing these "
         "numbers, or choosing options by them, is a release of its own.";
}

StatusOr<std::vector<std::string>> NotesOnClaims(const workbench::AttackTarget& target) {
  std::vector<std::string> notes = {OperatorsNote()};
  SUBMIX_ASSIGN_OR_RETURN(const auto cost, target.ensemble.PublicCost());
  if (cost) {
    notes.push_back("The public model was itself trained on private text, by " + cost->mechanism +
                    ". It is the same in both worlds: what it cost is neither attacked nor part of "
                    "a claim here; the deployment's statement adds it.");
  }
  return notes;
}

void AddClaimNote(const workbench::AttackedMechanism& attacked, const eval::ClaimedBounds& claim,
                  CommandReport& report) {
  const std::string& name = attacked.options.name;
  if (claim.statement.has_value()) {
    const auto is_same = [&](const auto& column) {
      return column.first == name && column.second.Labels() == claim.labels;
    };
    if (std::ranges::none_of(report.statements, is_same)) {
      report.statements.emplace_back(name, *claim.statement);
    }
    return;
  }
  const std::string note = name + ": " + claim.labels;
  if (std::ranges::find(report.notes, note) == report.notes.end()) report.notes.push_back(note);
}

Json Claimed(const eval::ClaimedBounds& claim, double number) {
  return claim.bounds.empty() ? Json() : Json(number);
}

Json ModelColumns(const workbench::AttackedLaw& law) {
  Json columns = {
      {"model", law.model}, {"guarantee", law.guarantee}, {eval::kPromiseColumn, law.promise}};
  columns["order"] = law.epsilon < 0 ? Json() : Json(law.order);
  columns["epsilon"] = law.epsilon < 0 ? Json() : Json(law.epsilon);
  return columns;
}

void AddPoint(const workbench::AttackedLaw& law, double y, eval::Figure& figure) {
  auto curve =
      std::find_if(figure.curves.begin(), figure.curves.end(),
                   [&](const eval::FigureCurve& known) { return known.name == law.model; });
  if (curve == figure.curves.end()) {
    figure.curves.push_back({.name = law.model, .guarantee = law.promise});
    curve = figure.curves.end() - 1;
    curve->is_level = law.epsilon < 0;
  }
  curve->points.push_back({.x = std::max(law.epsilon, 0.0), .y = y});
}

}  // namespace submix::apps

#include "submix/apps/attacking/attack_output.h"

#include <algorithm>

#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/training_cost.h"
#include "submix/eval/pages/report.h"

namespace submix::apps {

namespace {

using base::Status;
using Json = nlohmann::ordered_json;

}  // namespace

void AddTableFlags(Flags flags, OutputFlags& output) {
  flags.Add("--json", output.json, "One JSON object");
  flags.Add("--csv", output.csv, "Also write the rows to this file");
}

void AddOutputFlags(Flags flags, OutputFlags& output, const std::string& drawn) {
  AddTableFlags(flags, output);
  flags.Add("--figures", output.figures, "Also write CSV and SVG to this directory: " + drawn);
}

Status Deliver(const OutputFlags& flags, const AttackTarget& target, const AccountReport& report,
               const eval::Figure& figure) {
  AccountReport for_people = report;
  for (Json& row : for_people.rows) row.erase(kPromise);
  AccountReport for_machines = report;
  const std::string ensemble = base::ToHex(ensemble::EnsembleFingerprint(target.manifest));
  for (Json& row : for_machines.rows) row[eval::kEnsembleColumn] = ensemble;
  PrintReport(flags.json ? for_machines : for_people, flags.json);
  if (!flags.csv.empty()) SUBMIX_RETURN_IF_ERROR(WriteReportCsv(for_machines, flags.csv));
  if (flags.figures.empty() || figure.curves.empty()) return base::OkStatus();
  return eval::WriteFigure(figure, flags.figures);
}

std::string OperatorsNote() {
  return "Operator's view, outside the budget: nothing was charged to a ledger. Publishing these "
         "numbers, or choosing options by them, is a release of its own.";
}

base::StatusOr<std::vector<std::string>> NotesOnClaims(const AttackTarget& target) {
  std::vector<std::string> notes = {OperatorsNote()};
  SUBMIX_ASSIGN_OR_RETURN(
      const auto cost,
      ensemble::LoadTrainingCost(ensemble::PublicDirectory(target.ensemble_directory)));
  if (cost) {
    notes.push_back("The public model was itself trained on private text, by " + cost->mechanism +
                    ". It is the same in both worlds: what it cost is neither attacked nor part of "
                    "a claim here; the deployment's statement adds it.");
  }
  return notes;
}

void AddClaimNote(const AttackedMechanism& attacked, const eval::PrivacyClaim& claim,
                  AccountReport& report) {
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

Json ModelColumns(const AttackedLaw& law) {
  Json columns = {{"model", law.model}, {"guarantee", law.guarantee}, {kPromise, law.promise}};
  columns["order"] = law.epsilon < 0 ? Json() : Json(law.order);
  columns["epsilon"] = law.epsilon < 0 ? Json() : Json(law.epsilon);
  return columns;
}

void AddPoint(const AttackedLaw& law, double y, eval::Figure& figure) {
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

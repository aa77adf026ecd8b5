#include "submix/apps/attacking/attack_target.h"

#include <algorithm>
#include <utility>

#include "submix/accounting/privacy_statement.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/eval/pages/report.h"
#include "submix/workbench/declaration.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

Status AddMechanism(const mechanism::MechanismOptions& options, double epsilon,
                    AttackTarget& target) {
  if (!(epsilon > 0)) return base::InvalidArgumentError("epsilon: expected nats above 0");
  SUBMIX_ASSIGN_OR_RETURN(std::shared_ptr<const mechanism::Mechanism> mechanism,
                          mechanism::MakeAnyMechanism(options));
  target.mechanisms.push_back({std::move(mechanism), options, epsilon});
  return base::OkStatus();
}

// As `deploy` would declare it, under every budget; one is enough for what is not private or knows
// nothing.
Status AddNamed(const TargetFlags& flags, const std::string& name, AttackTarget& target) {
  SUBMIX_ASSIGN_OR_RETURN(mechanism::MechanismOptions options,
                          workbench::MechanismAsSaid(name, target.ensemble.manifest().num_parts,
                                                     flags.queries, flags.mechanism_flags.Said()));
  const bool needs_no_budget = name == "public" || name == "ensemble";
  for (const double epsilon : flags.epsilons) {
    if (!flags.mechanism_flags.Has("target_leakage")) {
      options.target_leakage = epsilon / static_cast<double>(flags.queries);
    }
    SUBMIX_RETURN_IF_ERROR(AddMechanism(options, epsilon, target));
    if (needs_no_budget) break;
  }
  return base::OkStatus();
}

}  // namespace

std::string AttackedMechanism::Guarantee() const {
  if (!mechanism->is_private()) return "none";
  return mechanism->is_sound() ? "sound" : "research";
}

void AddTargetFlags(Flags flags, TargetFlags& target) {
  flags.Require("target", target.directory, kDirectory,
                "Directory of an ensemble (`submix train`), or of a deployment (`submix deploy`): "
                "its mechanism and budget are then attacked first");
  flags.Add(
      "--against", target.against,
      std::string("What is attacked, one or more: ") + mechanism::AnyMechanismNames() +
          (target.takes_members ? ", and members: the one that knows most, served as it is" : "") +
          ". Default: the deployment, or filtered-submix");
  flags.Add("--epsilon", target.epsilons, "One or more budgets of a part, nats");
  flags.Add("--queries", target.queries, kPositive,
            "Answers that the budget is made for: the cap on one charge is epsilon / queries");
  target.mechanism_flags.AddTo(flags, MechanismFlags::Takes::kOneValue);
  AddModelFlags(flags, target.predictor);
  flags.Add("--seed", target.seed, "Of all draws: the same command gives the same numbers");
}

StatusOr<AttackTarget> LoadTarget(const TargetFlags& flags) {
  AttackTarget target;
  std::string ensemble_directory = flags.directory;
  std::vector<std::string> names = flags.against;
  if (base::FileExists(engine::DeploymentConfigPath(flags.directory))) {
    SUBMIX_ASSIGN_OR_RETURN(const engine::Deployment deployment, ReadDeployment(flags.directory));
    const engine::DeploymentOptions& declared = deployment.config.options;
    ensemble_directory = deployment.config.ensemble_directory;
    SUBMIX_RETURN_IF_ERROR(AddMechanism(declared.mechanism, declared.epsilon, target));
  } else if (names.empty()) {
    names.push_back("filtered-submix");
  }
  SUBMIX_ASSIGN_OR_RETURN(target.ensemble, ensemble::OpenedEnsemble::Open(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(target.tokenizer, workbench::LoadTokenizer(target.ensemble));
  for (const std::string& name : names) {
    if (name == kMembers && !flags.takes_members) {
      return base::InvalidArgumentError(
          "members serve no mixture to tell apart; `ensemble` is the one that is not private");
    }
    if (name == kMembers) {
      target.attacks_members = true;
    } else {
      SUBMIX_RETURN_IF_ERROR(AddNamed(flags, name, target));
    }
  }
  return target;
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTargetPredictor(
    const TargetFlags& flags, const AttackTarget& target,
    const std::vector<std::string>& extra_members) {
  if (extra_members.empty()) {
    return workbench::LoadEnsemble(flags.predictor, *target.tokenizer, target.ensemble);
  }
  SUBMIX_RETURN_IF_ERROR(target.ensemble.CheckHasModels());
  SUBMIX_ASSIGN_OR_RETURN(auto members, target.ensemble.MemberDirectories());
  members.insert(members.end(), extra_members.begin(), extra_members.end());
  return workbench::LoadPredictor(flags.predictor, target.ensemble.public_directory(), members,
                                  target.tokenizer->vocab_size());
}

std::string AttackedLaw::ModelAndCost() const {
  return epsilon < 0 ? model : model + ", epsilon " + accounting::FormatCost(epsilon);
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

Status Deliver(const OutputFlags& flags, const AttackTarget& target, const AccountReport& report,
               const eval::Figure& figure) {
  AccountReport for_people = report;
  for (Json& row : for_people.rows) row.erase(kPromise);
  AccountReport for_machines = report;
  const std::string ensemble = base::ToHex(target.ensemble.fingerprint());
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

StatusOr<std::vector<std::string>> NotesOnClaims(const AttackTarget& target) {
  std::vector<std::string> notes = {OperatorsNote()};
  SUBMIX_ASSIGN_OR_RETURN(const auto cost, target.ensemble.PublicTraining());
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

Json Claimed(const eval::PrivacyClaim& claim, double number) {
  return claim.bounds.empty() ? Json() : Json(number);
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

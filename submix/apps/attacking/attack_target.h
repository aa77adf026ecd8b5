// What `submix attack` and `submix audit` are told of their target, and where they leave their
// numbers.
#pragma once

#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/base/status.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/eval/pages/figure.h"
#include "submix/workbench/attacking/attack_target.h"

namespace submix::apps {

struct TargetFlags {
  workbench::AttackRequest request;
  MechanismFlags mechanism_flags;

  // With what is said of the mechanisms.
  workbench::AttackRequest Request() const;
};

void AddTargetFlags(Flags flags, TargetFlags& target);

// --- Where the numbers go

struct OutputFlags {
  bool json = false;
  std::string csv;
  std::string figures;  // a directory
};

// --json and --csv.
void AddTableFlags(Flags flags, OutputFlags& output);
// These and --figures. `drawn`: what the figure shows.
void AddOutputFlags(Flags flags, OutputFlags& output, const std::string& drawn);

// What was attacked, and by which command: "attack extraction".
struct Attack {
  std::string kind;
  std::string directory;  // of an ensemble or a deployment
  const workbench::AttackTarget& target;
};

// Prints, the verdicts last, and keeps the rows beside an attacked deployment; then writes what the
// flags ask for. For machines every row also names the ensemble that was attacked, by its
// fingerprint. A figure without points is left out. Errors: those of writing; eval::WriteFigure's.
base::Status Deliver(const OutputFlags& flags, const Attack& attack, const CommandReport& report,
                     const eval::Figure& figure);

// --error of an audit's bounds, and what a refutation says of it.
void AddErrorFlag(Flags flags, double& error);
std::string UnlessItErrs(double error);

// What every attack must say with its numbers.
std::string OperatorsNote();

// These, and what the claims leave out: what a privately trained public model cost. Errors: those
// of LoadTrainingCost.
base::StatusOr<std::vector<std::string>> NotesOnClaims(const workbench::AttackTarget& target);

// The claim's statement, once for each mechanism; a note where nothing is claimed.
void AddClaimNote(const workbench::AttackedMechanism& attacked, const eval::ClaimedBounds& claim,
                  CommandReport& report);

// A number of the claim; null where nothing is claimed, so that all is allowed.
nlohmann::ordered_json Claimed(const eval::ClaimedBounds& claim, double number);

// The columns that say what was attacked: model, guarantee, promise, order, epsilon (null without a
// budget).
nlohmann::ordered_json ModelColumns(const workbench::AttackedLaw& law);

// Adds a point at the law's epsilon to the curve of its model, which is made if there is none; a
// level for what has no budget.
void AddPoint(const workbench::AttackedLaw& law, double y, eval::Figure& figure);

}  // namespace submix::apps

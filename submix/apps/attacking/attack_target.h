// What `submix attack` and `submix audit` work on: the models of an ensemble, and the mechanisms
// over them, each under a budget of its own; and where they leave their numbers. Nothing is charged
// to a ledger: this is the operator's view (contract 7).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/apps/measuring/account_report.h"
#include "submix/apps/serving/mechanism_flags.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/status.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/audits/privacy_claim.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/eval/pages/figure.h"
#include "submix/mechanism/mechanism.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::apps {

// The word for attacks on the members themselves.
inline constexpr char kMembers[] = "members";

struct TargetFlags {
  std::string directory;
  std::vector<std::string> against;
  std::vector<double> epsilons = {2};
  std::int64_t queries = 1024;
  MechanismFlags mechanism_flags;
  workbench::ModelOptions predictor;
  std::uint64_t seed = 0;
  bool takes_members = false;  // the word "members" too, which serve no mixture
};

void AddTargetFlags(Flags flags, TargetFlags& target);

// A mechanism under a budget.
struct AttackedMechanism {
  std::shared_ptr<const mechanism::Mechanism> mechanism;
  mechanism::MechanismOptions options;
  double epsilon = 0;

  // "sound", "research" or "none".
  std::string Guarantee() const;
};

struct AttackTarget {
  ensemble::OpenedEnsemble ensemble;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::vector<AttackedMechanism> mechanisms;
  bool attacks_members = false;
};

// Everything but the models. A deployment's own mechanism and budget come first. Errors: those of
// the files; kInvalidArgument for options out of range.
base::StatusOr<AttackTarget> LoadTarget(const TargetFlags& flags);

// The public model and all members of the target, then `extra_members` (directories).
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTargetPredictor(
    const TargetFlags& flags, const AttackTarget& target,
    const std::vector<std::string>& extra_members = {});

// A law of tokens to attack, and what stands beside its numbers.
struct AttackedLaw {
  std::string model;  // the mechanism's name, or "members"
  std::string guarantee;
  std::string promise;  // unit, adjacency, scope and proof of the budget's statement, in one line
  std::string order;    // empty without a budget, as is the next
  double epsilon = -1;  // nats at the order; negative: no budget
  // Null for "members": each text is attacked in the member that knows it best.
  std::shared_ptr<eval::TokenLaw> law;

  // As figures name it: "dclip, epsilon 2", or the model alone without a budget.
  std::string ModelAndCost() const;
};

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

// The column of a claim's labels: for machines; people read them once, in the notes.
inline constexpr char kPromise[] = "promise";

// Prints, then writes what the flags ask for. For machines every row also names the ensemble that
// was attacked, by its fingerprint. A figure without points is left out. Errors: those of
// writing; eval::WriteFigure's.
base::Status Deliver(const OutputFlags& flags, const AttackTarget& target,
                     const AccountReport& report, const eval::Figure& figure);

// What every attack must say with its numbers.
std::string OperatorsNote();

// These, and what the claims leave out: what a privately trained public model cost. Errors: those
// of LoadTrainingCost.
base::StatusOr<std::vector<std::string>> NotesOnClaims(const AttackTarget& target);

// The claim's statement, once for each mechanism; a note where nothing is claimed.
void AddClaimNote(const AttackedMechanism& attacked, const eval::PrivacyClaim& claim,
                  AccountReport& report);

// A number of the claim; null where nothing is claimed, so that all is allowed.
nlohmann::ordered_json Claimed(const eval::PrivacyClaim& claim, double number);

// The columns that say what was attacked: model, guarantee, promise, order, epsilon (null without a
// budget).
nlohmann::ordered_json ModelColumns(const AttackedLaw& law);

// Adds a point at the law's epsilon to the curve of its model, which is made if there is none; a
// level for what has no budget.
void AddPoint(const AttackedLaw& law, double y, eval::Figure& figure);

}  // namespace submix::apps

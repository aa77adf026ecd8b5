// What `submix attack` and `submix audit` work on: the models of an ensemble, and the mechanisms
// over them, each under a budget of its own. Nothing is charged to a ledger: this is the operator's
// view (contract 7).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/mechanism_options.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

// The word for attacks on the members themselves.
inline constexpr char kMembers[] = "members";

struct AttackRequest {
  std::string directory;             // of an ensemble or a deployment
  std::vector<std::string> against;  // names of mechanisms, or kMembers
  std::vector<double> epsilons = {2};
  std::int64_t tokens = 1024;
  std::map<std::string, std::string> said;  // as Declaration has it
  ModelOptions predictor;
  std::uint64_t seed = 0;
  bool takes_members = false;  // kMembers too, who serve no mixture
};

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
base::StatusOr<AttackTarget> LoadTarget(const AttackRequest& request);

// The public model and all members of the target, then `extra_members` (directories).
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTargetPredictor(
    const AttackRequest& request, const AttackTarget& target,
    const std::vector<std::string>& extra_members = {});

// A law of tokens to attack, and what stands beside its numbers.
struct AttackedLaw {
  std::string model;  // the mechanism's name, or kMembers
  std::string guarantee;
  std::string promise;  // unit, adjacency, scope and proof of the budget's statement, in one line
  std::string order;    // empty without a budget, as is the next
  double epsilon = -1;  // nats at the order; negative: no budget
  // Null for kMembers: each text is attacked in the member that knows it best.
  std::shared_ptr<eval::TokenLaw> law;

  // As figures name it: "dclip, epsilon 2", or the model alone without a budget.
  std::string ModelAndCost() const;
};

// The target with its models loaded, and the laws over them: of every mechanism, then of members.
struct AttackedModels {
  AttackTarget target;
  std::vector<AttackedLaw> laws;
  std::unique_ptr<ensemble::Predictor> predictor;
};
// Errors: those of LoadTarget, of claims and of reading the models.
base::StatusOr<AttackedModels> LoadAttackedModels(const AttackRequest& request);

}  // namespace submix::workbench

#include "submix/workbench/attacking/attack_target.h"

#include <utility>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/file_system.h"
#include "submix/engine/deployment.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/workbench/declaration.h"
#include "submix/workbench/models/open_models.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

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
Status AddNamed(const AttackRequest& request, const std::string& name, AttackTarget& target) {
  SUBMIX_ASSIGN_OR_RETURN(
      mechanism::MechanismOptions options,
      MechanismAsSaid(name, target.ensemble.manifest().num_parts, request.tokens, request.said));
  const bool needs_no_budget = name == "public" || name == "ensemble";
  for (const double epsilon : request.epsilons) {
    if (!request.said.contains("target_leakage")) {
      options.target_leakage = epsilon / static_cast<double>(request.tokens);
    }
    SUBMIX_RETURN_IF_ERROR(AddMechanism(options, epsilon, target));
    if (needs_no_budget) break;
  }
  return base::OkStatus();
}

StatusOr<std::vector<AttackedLaw>> MakeLaws(const AttackRequest& request,
                                            const AttackTarget& target) {
  std::vector<AttackedLaw> laws;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::ClaimedBounds claim,
        eval::ClaimOf(*attacked.mechanism, attacked.epsilon, accounting::PrivacyUnit::kPart,
                      accounting::kDefaultDelta));
    AttackedLaw law = {attacked.options.name, attacked.Guarantee(), claim.labels, "", -1, nullptr};
    if (attacked.mechanism->is_private() && attacked.options.name != "public") {
      law.order = attacked.options.order.ToString();
      law.epsilon = attacked.epsilon;
    }
    SUBMIX_ASSIGN_OR_RETURN(
        law.law, eval::MakeMechanismLaw(attacked.options, attacked.epsilon,
                                        target.ensemble.manifest().halves, request.seed));
    laws.push_back(std::move(law));
  }
  if (target.attacks_members) {
    laws.push_back({kMembers, "none", "nothing is claimed: not private", "", -1, nullptr});
  }
  return laws;
}

}  // namespace

std::string AttackedMechanism::Guarantee() const {
  if (!mechanism->is_private()) return "none";
  return mechanism->is_sound() ? "sound" : "research";
}

StatusOr<AttackTarget> LoadTarget(const AttackRequest& request) {
  AttackTarget target;
  std::vector<std::string> names = request.against;
  if (base::FileExists(engine::DeploymentConfigPath(request.directory))) {
    SUBMIX_ASSIGN_OR_RETURN(
        engine::Deployment deployment,
        engine::OpenDeployment(request.directory, engine::DeploymentAccess::kReadOnly,
                               mechanism::MakeAnyMechanism));
    const engine::DeploymentOptions& declared = deployment.config.options;
    SUBMIX_RETURN_IF_ERROR(AddMechanism(declared.mechanism, declared.epsilon, target));
    target.ensemble = std::move(deployment.ensemble);
  } else {
    SUBMIX_ASSIGN_OR_RETURN(target.ensemble, ensemble::OpenedEnsemble::Open(request.directory));
    if (names.empty()) names.push_back("filtered-submix");
  }
  SUBMIX_ASSIGN_OR_RETURN(target.tokenizer, LoadTokenizer(target.ensemble));
  for (const std::string& name : names) {
    if (name == kMembers && !request.takes_members) {
      return base::InvalidArgumentError(
          "members serve no mixture to tell apart; `ensemble` is the one that is not private");
    }
    if (name == kMembers) {
      target.attacks_members = true;
    } else {
      SUBMIX_RETURN_IF_ERROR(AddNamed(request, name, target));
    }
  }
  return target;
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadTargetPredictor(
    const AttackRequest& request, const AttackTarget& target,
    const std::vector<std::string>& extra_members) {
  if (extra_members.empty()) {
    return LoadEnsemble(request.predictor, *target.tokenizer, target.ensemble);
  }
  SUBMIX_RETURN_IF_ERROR(target.ensemble.CheckHasModels());
  SUBMIX_ASSIGN_OR_RETURN(auto members, target.ensemble.MemberDirectories());
  members.insert(members.end(), extra_members.begin(), extra_members.end());
  return LoadPredictor(request.predictor, target.ensemble.public_directory(), members,
                       target.tokenizer->vocab_size());
}

std::string AttackedLaw::ModelAndCost() const {
  return epsilon < 0 ? model : model + ", epsilon " + accounting::FormatCost(epsilon);
}

StatusOr<AttackedModels> LoadAttackedModels(const AttackRequest& request) {
  AttackedModels models;
  SUBMIX_ASSIGN_OR_RETURN(models.target, LoadTarget(request));
  SUBMIX_ASSIGN_OR_RETURN(models.laws, MakeLaws(request, models.target));
  SUBMIX_ASSIGN_OR_RETURN(models.predictor, LoadTargetPredictor(request, models.target));
  return models;
}

}  // namespace submix::workbench

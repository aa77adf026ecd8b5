// A deployment: ensemble + mechanism options + order + budget + ledger. Its fingerprint covers all
// of them, and the ledger opens only for its own. Format: docs/deployment_format.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/engine/exhaustion.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/mechanism/declaring/make_mechanism.h"

namespace submix::engine {

// What the operator declares, once, before the first answer. All of it is public.
struct DeploymentOptions {
  // target_leakage in (0, epsilon]; num_parts is the ensemble's, whatever it says here.
  mechanism::MechanismOptions mechanism;
  double epsilon = 2;  // budget of every part in nats at the mechanism's order; in (0, 2^13)
  // Of every (epsilon, delta) that is printed; in (0, 1). No charge and no fingerprint depends on
  // it: the promise holds for all of them.
  double delta = accounting::kDefaultDelta;
  // Lets the server answer from a mechanism whose guarantee is not proven for every data set.
  bool research = false;
  // kRefuse: only for a mechanism whose charge is constant.
  WhenExhausted when_exhausted = WhenExhausted::kPublic;
};

// What earlier deployments over the same users count for in a later one's budget. Public.
struct EarlierBudgets {
  std::vector<std::string> lineages;  // of their ledgers, and of those that these count in
  accounting::FixedNats most;         // no part began with more spent
};

struct DeploymentConfig {
  static constexpr int kFormat = 3;

  std::string ensemble_directory;  // absolute
  base::Sha256Digest ensemble_fingerprint{};
  std::string lineage;  // the ledger's
  // Where the ledger is, if not in the deployment's directory: postgresql://HOST/DATABASE.
  std::string ledger_location;
  DeploymentOptions options;
  EarlierBudgets earlier;  // none: no lineages
  // The ensemble's: the list of users is public and each part is one of them, so that what a part
  // is promised is promised to that user, beside the same user without any text.
  bool public_keys = false;
};

// SHA-256 over every field that gives the ledger's numbers their meaning: ensemble fingerprint,
// mechanism and its options, order, budget, earlier budgets, public keys. Not over paths.
base::Sha256Digest DeploymentFingerprint(const DeploymentConfig& config);

// Where the files of a deployment are.
std::string DeploymentConfigPath(const std::string& deployment_directory);
ledger::DurableLedgerOptions LedgerOptions(const std::string& deployment_directory,
                                           const DeploymentConfig& config);

// Errors: kNotFound, kInvalidArgument naming file and field, kFailedPrecondition for a newer
// format.
base::StatusOr<DeploymentConfig> LoadDeploymentConfig(const std::string& deployment_directory);
base::Status SaveDeploymentConfig(const DeploymentConfig& config,
                                  const std::string& deployment_directory);

// A deployment, ready to answer if its ledger is open.
struct Deployment {
  DeploymentConfig config;
  ensemble::OpenedEnsemble ensemble;
  // What the public model cost the users that it was trained on; none: it is public.
  std::optional<ensemble::TrainingCost> public_training;
  std::unique_ptr<mechanism::Mechanism> mechanism;
  std::unique_ptr<ledger::DurableLedger> ledger;  // null: closed
  bool has_ended = false;  // a later deployment counts it in; it is open to be read alone
};

// Makes a deployment on an ensemble: records it in the manifest with its budget, then creates the
// ledger. A budget belongs to the data (contract 2): a second deployment on the same ensemble is
// refused, and what the deployments `after` have cost the same users is spent from the start; they
// end (earlier_deployments.h). Errors: kInvalidArgument for options out of range; kAlreadyExists if
// the directory is not empty or the ensemble has a deployment; kFailedPrecondition for an
// incomplete or changed ensemble, or halves that do not fit the mechanism; those of
// LoadTrainingCost (a public model that was trained on private text without noise: nothing could be
// promised); kUnavailable if the ensemble is being written; the ledger's; CarryOver's.
// `ledger_location` as in DeploymentConfig. `make` knows the mechanisms that may be deployed:
// without it, those that are proven. `replaces`: the ensemble's deployment in that directory, which
// must have charged nothing, is taken back first (replaced_deployment.h).
// Returns what was made, with its ledger closed.
base::StatusOr<Deployment> CreateDeployment(
    const std::string& deployment_directory, const std::string& ensemble_directory,
    const DeploymentOptions& options, const std::string& ledger_location = "",
    const mechanism::MechanismMaker& make = mechanism::MakeMechanism,
    const std::vector<std::string>& after = {}, bool replaces = false);

// What CreateDeployment would return; nothing is written and nothing ends. `replaced` is the
// directory of the deployment that is to be taken back; empty: none. Errors: CreateDeployment's,
// but for those of writing.
base::StatusOr<Deployment> PlanDeployment(const std::string& ensemble_directory,
                                          const DeploymentOptions& options,
                                          const mechanism::MechanismMaker& make,
                                          const std::vector<std::string>& after,
                                          const std::string& replaced);

enum class DeploymentAccess {
  kCharge,    // the one process that charges a file, one of those that charge a database
  kReadOnly,  // beside them
};

// What opening it to be charged asks, too. Errors: kFailedPrecondition if it has ended, or is a
// copy (deployment_place.h).
base::Status CheckMayCharge(const std::string& deployment_directory, const Deployment& deployment);

// What answering clients asks, besides. `allows_research`: whoever starts the server has said that
// it may answer by a mechanism that is not proven; the declaration must say so, too. Errors:
// kFailedPrecondition.
base::Status CheckMayBeServed(const std::string& deployment_directory, const Deployment& deployment,
                              bool allows_research);

// Opens and checks everything: files of the ensemble against its manifest, its fingerprint against
// the deployment's, the ledger and the manifest's list against the deployment. Errors:
// kFailedPrecondition if the ensemble changed after the deployment was made or does not list it, if
// the ledger is another's; to be charged, CheckMayCharge's; those of OpenEnsembleOf and
// LoadTrainingCost; the ledger's errors.
base::StatusOr<Deployment> OpenDeployment(
    const std::string& deployment_directory, DeploymentAccess access,
    const mechanism::MechanismMaker& make = mechanism::MakeMechanism);

}  // namespace submix::engine

// Deployments that answered from the same users before: what they cost counts against a new one's
// budget, and they end (docs/privacy.md, Theorem 16).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/mechanism/mechanism_maker.h"

namespace submix::engine {

// The deployment that is to come after them.
struct LaterDeployment {
  const ensemble::Manifest& manifest;
  const DeploymentOptions& options;
  const mechanism::Mechanism& mechanism;
};

struct CarriedOver {
  EarlierBudgets budgets;                    // public
  std::vector<accounting::FixedNats> spent;  // [K]: what each account begins with; the operator's
};

// Ends the deployments in these directories, durably, and returns what `later` begins with: from
// each of them, for all parts alike, an amount that is public (what every part has spent, where the
// charge is constant; its whole budget otherwise), or for each part what that part has spent, where
// the users are divided into the same parts and the later charge is not constant. Repeating an
// interrupted call gives the same. Errors, before anything is ended: kFailedPrecondition if orders
// differ, if it is more than the later budget or leaves nothing, if an earlier mechanism is not
// proven and the later one is, for an earlier public model whose cost the later promise would not
// hold, or if an ensemble changed; kInvalidArgument for one given twice, or that another one given
// counts in; those of reading ensembles and ledgers. Also kUnavailable while a server charges one
// of them from a file.
base::StatusOr<CarriedOver> CarryOver(const std::vector<std::string>& deployment_directories,
                                      const LaterDeployment& later,
                                      const mechanism::MechanismMaker& make);

// The same budgets, with nothing ended: what CarryOver would give now. Errors: CarryOver's, but for
// those of ending.
base::StatusOr<EarlierBudgets> PlanCarryOver(const std::vector<std::string>& deployment_directories,
                                             const LaterDeployment& later,
                                             const mechanism::MechanismMaker& make);

// The same ledger once its deployment has ended: bound to what no deployment is.
ledger::DurableLedgerOptions EndedLedger(ledger::DurableLedgerOptions options);

// The ledger of a deployment, ended or not.
struct OpenedToRead {
  std::unique_ptr<ledger::DurableLedger> ledger;
  bool has_ended = false;
};
base::StatusOr<OpenedToRead> OpenToRead(const std::string& deployment_directory,
                                        const DeploymentConfig& config);

// From here on nobody charges it: durably, whatever is called again. Errors: those of opening its
// ledger, kUnavailable while a process charges it from a file.
base::Status EndDeployment(const std::string& deployment_directory, const DeploymentConfig& config);

}  // namespace submix::engine

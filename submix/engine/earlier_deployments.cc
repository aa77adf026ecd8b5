#include "submix/engine/earlier_deployments.h"

#include <algorithm>
#include <set>

#include "submix/base/number_text.h"
#include "submix/engine/deployment_place.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/training_cost.h"

namespace submix::engine {
namespace {

using accounting::FixedNats;
using base::Status;
using base::StatusOr;
using ensemble::HasTrainedPublicModel;

struct Earlier {
  std::string directory;
  DeploymentConfig config;
  FixedNats bound;  // no part has spent more; public
  bool has_constant_charge = false;
  bool has_same_parts = false;  // account i is that of the same users before and after
};

// Same bytes, the cost file included. Of models that run elsewhere only files beside the weights
// are here, and two trainings with the same options cost the same: what is stated of them decides.
bool HaveSamePublicModel(const ensemble::Manifest& a, const ensemble::Manifest& b) {
  if (a.external.has_value() != b.external.has_value()) return false;
  if (a.external.has_value() && a.external->sha256 != b.external->sha256 &&
      (a.external->public_sha256.empty() ||
       a.external->public_sha256 != b.external->public_sha256)) {
    return false;
  }
  const auto public_files = [](const ensemble::Manifest& manifest) {
    auto files = manifest.file_sha256;
    std::erase_if(files, [](const auto& file) { return !file.first.starts_with("public/"); });
    return files;
  };
  return public_files(a) == public_files(b);
}

// No user's loss may be the sum of two that no one statement has (Theorem 16).
Status CheckCostsOfPublicModelsAddUp(const std::string& directory,
                                     const ensemble::Manifest& earlier,
                                     const ensemble::Manifest& later) {
  if (HasTrainedPublicModel(earlier) && !HaveSamePublicModel(earlier, later)) {
    const std::string mend = earlier.external.has_value() && later.external.has_value()
                                 ? ", and say so by the same --public-digest of both"
                                 : "";
    return base::FailedPreconditionError(
        directory +
        ": its public model was trained on private text at a cost of its own; give the new "
        "ensemble the same public model" +
        mend);
  }
  if (!HasTrainedPublicModel(later) || MayHaveReadItsUsers(later)) return base::OkStatus();
  if (HasTrainedPublicModel(earlier) && !MayHaveReadItsUsers(earlier)) return base::OkStatus();
  return base::FailedPreconditionError(
      directory +
      (HasTrainedPublicModel(earlier)
           ? ": its public model may have read its users, whom the new promise covers"
           : ": its users may be those whom the new public model was trained on, and no promise "
             "would count both costs") +
      "; train the new ensemble without --public-trained-on other-users");
}

Status CheckAddsUp(const Earlier& earlier, const ensemble::Manifest& manifest,
                   const mechanism::Mechanism& mechanism, const LaterDeployment& later) {
  const divergence::RenyiOrder order = earlier.config.options.mechanism.order;
  if (order != later.options.mechanism.order) {
    return base::FailedPreconditionError(
        earlier.directory + ": counts at order " + order.ToString() +
        ", and amounts at different orders do not add up; give --order " + order.ToString());
  }
  if (!mechanism.is_sound() && later.mechanism.is_sound()) {
    return base::FailedPreconditionError(
        earlier.directory + ": answered by " + std::string(mechanism.name()) +
        ", which is not proven: nothing bounds what it has cost, and no promise can count it in");
  }
  if (manifest.has_public_keys() != later.manifest.has_public_keys()) {
    return base::FailedPreconditionError(
        earlier.directory +
        ": one of both has --public-keys, and what they promise users does not add up; make the "
        "new ensemble as the earlier one was made");
  }
  return CheckCostsOfPublicModelsAddUp(earlier.directory, manifest, later.manifest);
}

StatusOr<Earlier> LoadEarlier(const std::string& directory, const LaterDeployment& later,
                              const mechanism::MechanismMaker& make) {
  Earlier earlier;
  earlier.directory = directory;
  SUBMIX_ASSIGN_OR_RETURN(earlier.config, LoadDeploymentConfig(directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto ensemble, OpenEnsembleOf(directory, earlier.config));
  const ensemble::Manifest& manifest = ensemble.manifest();
  // What a manifest says of parts and of the public model counts only if it is the one.
  if (ensemble.fingerprint() != earlier.config.ensemble_fingerprint) {
    return base::FailedPreconditionError(directory + ": its ensemble, " +
                                         earlier.config.ensemble_directory +
                                         ", is not the one it was made on; restore that");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, make(earlier.config.options.mechanism));
  SUBMIX_RETURN_IF_ERROR(CheckAddsUp(earlier, manifest, *mechanism, later));
  const FixedNats budget = FixedNats::RoundDown(earlier.config.options.epsilon);
  // The public model's answers cost nothing, whatever they were given.
  const bool is_free = mechanism->Statement(budget).epsilon == FixedNats();
  earlier.bound = is_free ? earlier.config.earlier.most : budget;
  earlier.has_constant_charge = mechanism->has_constant_charge();
  // Accounts of a constant charge stay alike, so that their end is public. With public keys it is
  // the list that says who is in which part, and it may be another.
  earlier.has_same_parts = !later.mechanism.has_constant_charge() && !manifest.has_public_keys() &&
                           manifest.partition_key_id == later.manifest.partition_key_id &&
                           earlier.config.options.mechanism.num_parts == later.manifest.num_parts;
  return earlier;
}

StatusOr<std::vector<Earlier>> LoadAll(const std::vector<std::string>& directories,
                                       const LaterDeployment& later,
                                       const mechanism::MechanismMaker& make) {
  std::vector<Earlier> all;
  for (const std::string& directory : directories) {
    SUBMIX_ASSIGN_OR_RETURN(Earlier earlier, LoadEarlier(directory, later, make));
    all.push_back(std::move(earlier));
  }
  return all;
}

// The ledgers of all, and those that they count in. One that two of them count in counts twice,
// which is more than it cost. Errors: kInvalidArgument for one that need not be given.
StatusOr<std::vector<std::string>> LineagesOf(const std::vector<Earlier>& all) {
  std::set<std::string> given, counted_in;
  for (const Earlier& earlier : all) {
    const std::vector<std::string>& older = earlier.config.earlier.lineages;
    counted_in.insert(older.begin(), older.end());
  }
  for (const Earlier& earlier : all) {
    const std::string& lineage = earlier.config.lineage;
    if (counted_in.contains(lineage) || !given.insert(lineage).second) {
      return base::InvalidArgumentError(earlier.directory +
                                        ": counted already; leave it out, or give it once");
    }
  }
  given.merge(counted_in);
  return std::vector<std::string>(given.begin(), given.end());
}

StatusOr<std::vector<ledger::Account>> ReadAccounts(const Earlier& earlier) {
  SUBMIX_ASSIGN_OR_RETURN(const auto opened, OpenToRead(earlier.directory, earlier.config));
  return opened.ledger->Accounts();
}

Status CheckLeavesSomething(FixedNats most, FixedNats alike, double epsilon) {
  const FixedNats budget = FixedNats::RoundDown(epsilon);
  if (most <= budget && alike < budget) return base::OkStatus();
  return base::FailedPreconditionError(
      "the earlier deployments have spent up to " + base::NumberText(most.ToNatsRoundedUp()) +
      " nats of these users' budget of " + base::NumberText(epsilon) +
      ", which leaves nothing; a larger --epsilon is what old and new answers cost together");
}

StatusOr<CarriedOver> AddUp(const std::vector<Earlier>& all, const LaterDeployment& later) {
  CarriedOver sum;
  sum.spent.resize(static_cast<std::size_t>(later.manifest.num_parts));
  FixedNats alike;  // of `most`, what all parts begin with
  for (const Earlier& earlier : all) {
    SUBMIX_ASSIGN_OR_RETURN(const auto accounts, ReadAccounts(earlier));
    FixedNats amount = earlier.bound;
    if (earlier.has_constant_charge && !earlier.has_same_parts) {
      amount = std::ranges::max(accounts, {}, &ledger::Account::spent).spent;
    }
    for (std::size_t part = 0; part < sum.spent.size(); ++part) {
      sum.spent[part] = sum.spent[part] + (earlier.has_same_parts ? accounts[part].spent : amount);
    }
    sum.budgets.most = sum.budgets.most + amount;
    if (!earlier.has_same_parts) alike = alike + amount;
  }
  SUBMIX_RETURN_IF_ERROR(CheckLeavesSomething(sum.budgets.most, alike, later.options.epsilon));
  return sum;
}

}  // namespace

ledger::DurableLedgerOptions EndedLedger(ledger::DurableLedgerOptions options) {
  options.fingerprint =
      base::Sha256("submix deployment ended\n" + base::ToHex(options.fingerprint));
  return options;
}

StatusOr<OpenedToRead> OpenToRead(const std::string& deployment_directory,
                                  const DeploymentConfig& config) {
  const auto options = LedgerOptions(deployment_directory, config);
  auto ledger = ledger::DurableLedger::OpenReadOnly(options);
  if (ledger.ok()) return OpenedToRead{*std::move(ledger), false};
  auto ended = ledger::DurableLedger::OpenReadOnly(EndedLedger(options));
  if (!ended.ok()) return ledger.status();
  return OpenedToRead{*std::move(ended), true};
}

Status EndDeployment(const std::string& deployment_directory, const DeploymentConfig& config) {
  const auto options = LedgerOptions(deployment_directory, config);
  if (ledger::DurableLedger::OpenReadOnly(EndedLedger(options)).ok()) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, ledger::DurableLedger::Open(options));
  return ledger->Rebind(EndedLedger(options).fingerprint);
}

StatusOr<EarlierBudgets> PlanCarryOver(const std::vector<std::string>& deployment_directories,
                                       const LaterDeployment& later,
                                       const mechanism::MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(const auto all, LoadAll(deployment_directories, later, make));
  SUBMIX_ASSIGN_OR_RETURN(auto lineages, LineagesOf(all));
  SUBMIX_ASSIGN_OR_RETURN(CarriedOver carried, AddUp(all, later));
  carried.budgets.lineages = std::move(lineages);
  return std::move(carried.budgets);
}

StatusOr<CarriedOver> CarryOver(const std::vector<std::string>& deployment_directories,
                                const LaterDeployment& later,
                                const mechanism::MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(const auto all, LoadAll(deployment_directories, later, make));
  SUBMIX_ASSIGN_OR_RETURN(auto lineages, LineagesOf(all));
  // Whatever can be refused is refused before the first one ends.
  SUBMIX_RETURN_IF_ERROR(AddUp(all, later).status());
  for (const Earlier& earlier : all) {
    SUBMIX_RETURN_IF_ERROR(EndDeployment(earlier.directory, earlier.config));
  }
  SUBMIX_ASSIGN_OR_RETURN(CarriedOver carried, AddUp(all, later));
  carried.budgets.lineages = std::move(lineages);
  return carried;
}

}  // namespace submix::engine

#include "submix/engine/deployment.h"

#include <climits>
#include <filesystem>
#include <limits>
#include <variant>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/engine/deployment_place.h"
#include "submix/engine/earlier_deployments.h"
#include "submix/engine/replaced_deployment.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/mechanism/options_table.h"

namespace submix::engine {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;
using nlohmann::json;

constexpr char kAnchor[] = "anchor";

Status CheckDelta(double delta, const std::string& of) {
  if (delta > 0 && delta < 1) return base::OkStatus();
  return base::InvalidArgumentError(of + "delta must be above 0 and below 1, found " +
                                    base::NumberText(delta));
}

Status CheckOptions(const DeploymentOptions& options) {
  SUBMIX_RETURN_IF_ERROR(CheckDelta(options.delta, ""));
  if (!(options.epsilon > 0 && options.epsilon < accounting::FixedNats::kLimitNats)) {
    return base::InvalidArgumentError("epsilon must be above 0 and below 8192 nats, found " +
                                      base::NumberText(options.epsilon));
  }
  if (!(options.mechanism.target_leakage > 0 &&
        options.mechanism.target_leakage <= options.epsilon)) {
    return base::InvalidArgumentError(
        "the target leakage (beta, the most one token may cost a part) must be above 0 and at "
        "most "
        "epsilon, found " +
        base::NumberText(options.mechanism.target_leakage));
  }
  return base::OkStatus();
}

// What later formats added is written only where it is not the default: the fingerprint of a
// deployment covers these fields, and must not change under it.
json OptionsToJson(const DeploymentOptions& options) {
  json object = {{"epsilon", options.epsilon}};
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    if (!mechanism::IsWritten(option, options.mechanism)) continue;
    std::visit([&](const auto& value) { object[json::json_pointer(option.pointer())] = value; },
               mechanism::ValueOf(option, options.mechanism));
  }
  if (options.research) object["research"] = true;
  if (options.when_exhausted != WhenExhausted::kPublic) {
    object["when_exhausted"] = ToString(options.when_exhausted);
  }
  return object;
}

// `field` of an object, of the kind that `like` has.
StatusOr<mechanism::OptionValue> ReadLike(const mechanism::OptionValue& like,
                                          const JsonObject& object, const std::string& field) {
  mechanism::OptionValue value;
  if (std::holds_alternative<std::string>(like)) {
    SUBMIX_ASSIGN_OR_RETURN(value, object.Text(field));
  } else if (std::holds_alternative<std::int64_t>(like)) {
    SUBMIX_ASSIGN_OR_RETURN(value, object.Integer(field, INT_MIN, INT_MAX));
  } else {
    SUBMIX_ASSIGN_OR_RETURN(value, object.Number(field));
  }
  return value;
}

// A group that is there is whole.
Status ReadMechanismOption(const mechanism::MechanismOption& option, const JsonObject& object,
                           mechanism::MechanismOptions& options) {
  const std::string group(option.group());
  JsonObject place = object;
  if (!group.empty()) {
    if (!object.Has(group)) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(place, object.Object(group));
  }
  const std::string field(option.path.substr(group.empty() ? 0 : group.size() + 1));
  if (group.empty() && !option.is_always_written && !object.Has(field)) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto value,
                          ReadLike(mechanism::ValueOf(option, options), place, field));
  return mechanism::SetValue(option, value, options);
}

StatusOr<DeploymentOptions> OptionsFromJson(const JsonObject& object) {
  DeploymentOptions options;
  SUBMIX_ASSIGN_OR_RETURN(options.epsilon, object.Number("epsilon"));
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    SUBMIX_RETURN_IF_ERROR(ReadMechanismOption(option, object, options.mechanism));
  }
  std::string when_exhausted = "public";
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("research", options.research));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("when_exhausted", when_exhausted));
  SUBMIX_ASSIGN_OR_RETURN(options.when_exhausted, ParseWhenExhausted(when_exhausted));
  return options;
}

json EarlierToJson(const EarlierBudgets& earlier) {
  return {{"lineages", earlier.lineages}, {"most_units", earlier.most.units()}};
}

StatusOr<EarlierBudgets> EarlierFromJson(const JsonObject& object) {
  EarlierBudgets earlier;
  SUBMIX_ASSIGN_OR_RETURN(earlier.lineages, object.Texts("lineages"));
  SUBMIX_ASSIGN_OR_RETURN(
      const std::int64_t units,
      object.Integer("most_units", 0, std::numeric_limits<std::int64_t>::max()));
  earlier.most = accounting::FixedNats::FromUnits(units);
  return earlier;
}

// The mechanism of these options, if it is one that a deployment may answer with.
StatusOr<std::unique_ptr<mechanism::Mechanism>> MakeDeployable(
    const DeploymentOptions& options, const mechanism::MechanismMaker& make) {
  SUBMIX_ASSIGN_OR_RETURN(auto mechanism, make(options.mechanism));
  const std::string& name = options.mechanism.name;
  if (options.when_exhausted == WhenExhausted::kRefuse && !mechanism->has_constant_charge()) {
    return base::InvalidArgumentError(
        "when exhausted, refuse: " + name +
        " has no fixed number of tokens; its parts run out one by one, and a refusal would tell "
        "of them. Leave the option out, or choose a mechanism such as dclip");
  }
  if (!mechanism->is_private()) {
    return base::InvalidArgumentError("the mechanism " + name +
                                      " is not private and cannot be deployed: it is for "
                                      "`submix evaluate` and attacks only");
  }
  return mechanism;
}

StatusOr<DeploymentConfig> ConfigFromJson(const JsonObject& object,
                                          const std::string& deployment_directory) {
  const std::string path = DeploymentConfigPath(deployment_directory);
  SUBMIX_ASSIGN_OR_RETURN(const int format, object.Int("format", 1, INT_MAX));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(path, format, DeploymentConfig::kFormat));
  DeploymentConfig config;
  SUBMIX_ASSIGN_OR_RETURN(const std::string ensemble, object.Text("ensemble"));
  config.ensemble_directory = EnsemblePlace(deployment_directory, ensemble);
  SUBMIX_ASSIGN_OR_RETURN(const std::string fingerprint, object.Text("ensemble_fingerprint"));
  SUBMIX_ASSIGN_OR_RETURN(config.ensemble_fingerprint, base::Sha256FromHex(fingerprint));
  SUBMIX_ASSIGN_OR_RETURN(config.lineage, object.Text("lineage"));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("ledger", config.ledger_location));
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject options, object.Object("options"));
  SUBMIX_ASSIGN_OR_RETURN(config.options, OptionsFromJson(options));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("delta", config.options.delta));
  SUBMIX_RETURN_IF_ERROR(CheckDelta(config.options.delta, path + ": "));
  SUBMIX_ASSIGN_OR_RETURN(config.options.mechanism.num_parts, object.Int("parts", 1, INT_MAX));
  if (object.Has("after")) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject after, object.Object("after"));
    SUBMIX_ASSIGN_OR_RETURN(config.earlier, EarlierFromJson(after));
  }
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("public_keys", config.public_keys));
  return config;
}

Status CheckIsDeployable(const ensemble::OpenedEnsemble& ensemble,
                         const mechanism::Mechanism& mechanism) {
  const ensemble::Manifest& manifest = ensemble.manifest();
  SUBMIX_RETURN_IF_ERROR(ensemble.MemberDirectories().status());
  if (manifest.halves < mechanism.halves()) {
    return base::FailedPreconditionError(
        ensemble.directory() + ": members a part: " + std::to_string(manifest.halves) +
        ", but the mechanism " + std::string(mechanism.name()) + " needs " +
        std::to_string(mechanism.halves()) + "; train with --halves " +
        std::to_string(mechanism.halves()));
  }
  if (!manifest.deployments.empty()) {
    return base::AlreadyExistsError(
        ensemble.directory() + ": already deployed as " + manifest.deployments.front().name +
        "; a budget belongs to the data, so a second one would add to it: use that deployment, or "
        "take it back with --replace if it has charged nothing, or train an ensemble anew and "
        "deploy it with --after");
  }
  return ensemble.VerifyFiles();
}

Status CheckIsFree(const std::string& deployment_directory) {
  if (!base::FileExists(deployment_directory)) return base::OkStatus();
  const auto names = base::ListDirectory(deployment_directory);
  if (names.ok() && names->empty()) return base::OkStatus();
  return base::AlreadyExistsError(deployment_directory +
                                  ": not an empty directory; give a new one for the deployment");
}

// A crash between the two last steps of CreateDeployment leaves a whole deployment, known to the
// manifest, under its unfinished name. True if there was one; it has its place now.
StatusOr<bool> FinishInterrupted(const ensemble::Manifest& manifest, const std::string& unfinished,
                                 const std::string& deployment_directory) {
  const auto config = LoadDeploymentConfig(unfinished);
  if (!config.ok()) return false;
  for (const ensemble::DeploymentEntry& entry : manifest.deployments) {
    if (entry.lineage != config->lineage) continue;
    SUBMIX_RETURN_IF_ERROR(base::Rename(unfinished, deployment_directory));
    return true;
  }
  return false;
}

// Fingerprints alone do not tell deployments of the same options on one ensemble apart.
Status CheckLineage(const Deployment& deployment, const std::string& deployment_directory) {
  const std::string& lineage = deployment.config.lineage;
  if (deployment.ledger->lineage() != lineage) {
    return base::FailedPreconditionError(deployment_directory +
                                         ": its ledger is another deployment's; put its own back "
                                         "(docs/operating.md, Restore)");
  }
  for (const ensemble::DeploymentEntry& entry : deployment.ensemble.manifest().deployments) {
    if (entry.lineage == lineage) return base::OkStatus();
  }
  const std::string& ensemble = deployment.ensemble.directory();
  return base::FailedPreconditionError(
      ensemble + ": does not know the deployment " + deployment_directory +
      ", so that nothing would keep a second one from spending a budget of its own; put the "
      "manifest.json back that the ensemble had after `submix deploy`, or go on with `submix "
      "deploy " +
      ensemble + " NEW --after " + deployment_directory + "`");
}

std::vector<ledger::Account> NewAccounts(const std::vector<accounting::FixedNats>& spent,
                                         accounting::FixedNats budget) {
  std::vector<ledger::Account> accounts;
  for (std::size_t part = 0; part < spent.size(); ++part) {
    accounts.push_back({"part " + std::to_string(part), budget, spent[part]});
  }
  return accounts;
}

// Sets all that does not depend on earlier deployments, but for the ledger.
Status Prepare(ensemble::OpenedEnsemble ensemble, const DeploymentOptions& options,
               const mechanism::MechanismMaker& make, Deployment& deployment) {
  SUBMIX_RETURN_IF_ERROR(CheckOptions(options));
  deployment.ensemble = std::move(ensemble);
  const ensemble::Manifest& manifest = deployment.ensemble.manifest();
  DeploymentConfig& config = deployment.config;
  config.options = options;
  config.options.mechanism.num_parts = manifest.num_parts;
  SUBMIX_ASSIGN_OR_RETURN(deployment.mechanism, MakeDeployable(config.options, make));
  SUBMIX_ASSIGN_OR_RETURN(deployment.public_training, deployment.ensemble.PublicCost());
  SUBMIX_RETURN_IF_ERROR(CheckIsDeployable(deployment.ensemble, *deployment.mechanism));
  config.ensemble_directory =
      std::filesystem::absolute(deployment.ensemble.directory()).lexically_normal();
  config.ensemble_fingerprint = deployment.ensemble.fingerprint();
  config.public_keys = manifest.has_public_keys();
  return base::OkStatus();
}

// A whole deployment in a directory that nobody looks into yet; sets config.lineage.
Status BuildDeployment(const std::string& directory,
                       const std::vector<accounting::FixedNats>& spent, DeploymentConfig& config) {
  SUBMIX_RETURN_IF_ERROR(base::RemoveAll(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(base::MakePrivate(directory));
  const DeploymentOptions& options = config.options;
  const Status created = ledger::DurableLedger::Create(
      LedgerOptions(directory, config),
      NewAccounts(spent, accounting::FixedNats::RoundDown(options.epsilon)),
      options.mechanism.order.ToString());
  if (!created.ok()) {
    (void)base::RemoveAll(directory);
    return created;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto ledger,
                          ledger::DurableLedger::OpenReadOnly(LedgerOptions(directory, config)));
  config.lineage = ledger->lineage();
  return SaveDeploymentConfig(config, directory);
}

}  // namespace

base::Sha256Digest DeploymentFingerprint(const DeploymentConfig& config) {
  json canonical = {{"ensemble", base::ToHex(config.ensemble_fingerprint)},
                    {"options", OptionsToJson(config.options)},
                    {"parts", config.options.mechanism.num_parts}};
  if (!config.earlier.lineages.empty()) canonical["after"] = EarlierToJson(config.earlier);
  if (config.public_keys) canonical["public_keys"] = true;
  return base::Sha256("submix deployment 1\n" + canonical.dump());
}

std::string DeploymentConfigPath(const std::string& deployment_directory) {
  return base::JoinPath(deployment_directory, "deployment.json");
}

ledger::DurableLedgerOptions LedgerOptions(const std::string& deployment_directory,
                                           const DeploymentConfig& config) {
  return {config.ledger_location.empty() ? base::JoinPath(deployment_directory, "ledger.sqlite")
                                         : config.ledger_location,
          base::JoinPath(deployment_directory, kAnchor), DeploymentFingerprint(config)};
}

StatusOr<DeploymentConfig> LoadDeploymentConfig(const std::string& deployment_directory) {
  const std::string path = DeploymentConfigPath(deployment_directory);
  const auto text = base::ReadFile(path);
  if (text.status().code() == base::StatusCode::kNotFound) {
    return base::NotFoundError(deployment_directory +
                               ": not a deployment: it has no deployment.json; `submix deploy` "
                               "makes one from an ensemble" +
                               ensemble::BatchesHint(deployment_directory));
  }
  SUBMIX_RETURN_IF_ERROR(text.status());
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject object,
                          JsonObject::Parse(*text, "not a deployment: " + path));
  return ConfigFromJson(object, deployment_directory);
}

Status SaveDeploymentConfig(const DeploymentConfig& config,
                            const std::string& deployment_directory) {
  // What format 2 can say is written so: older programs read it.
  json object = {{"format", config.public_keys ? DeploymentConfig::kFormat : 2},
                 {"ensemble", config.ensemble_directory},
                 {"ensemble_fingerprint", base::ToHex(config.ensemble_fingerprint)},
                 {"lineage", config.lineage},
                 {"parts", config.options.mechanism.num_parts},
                 {"delta", config.options.delta},
                 {"options", OptionsToJson(config.options)}};
  if (!config.ledger_location.empty()) object["ledger"] = config.ledger_location;
  if (!config.earlier.lineages.empty()) object["after"] = EarlierToJson(config.earlier);
  if (config.public_keys) object["public_keys"] = true;
  return base::WriteFile(DeploymentConfigPath(deployment_directory), object.dump(2) + "\n");
}

StatusOr<Deployment> PlanDeployment(const std::string& ensemble_directory,
                                    const DeploymentOptions& options,
                                    const mechanism::MechanismMaker& make,
                                    const std::vector<std::string>& after,
                                    const std::string& replaced) {
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_directory));
  if (!replaced.empty()) SUBMIX_RETURN_IF_ERROR(RemoveUncharged(replaced, manifest));
  Deployment planned;
  SUBMIX_RETURN_IF_ERROR(Prepare({ensemble_directory, manifest}, options, make, planned));
  SUBMIX_ASSIGN_OR_RETURN(
      planned.config.earlier,
      PlanCarryOver(after, {manifest, planned.config.options, *planned.mechanism}, make));
  return planned;
}

StatusOr<Deployment> CreateDeployment(const std::string& directory,
                                      const std::string& ensemble_directory,
                                      const DeploymentOptions& options,
                                      const std::string& ledger_location,
                                      const mechanism::MechanismMaker& make,
                                      const std::vector<std::string>& after, bool replaces) {
  if (!ledger_location.empty() && !ledger::DurableLedger::IsPostgres(ledger_location)) {
    return base::InvalidArgumentError(
        "a ledger outside the deployment's directory is a PostgreSQL database, "
        "postgresql://HOST/DATABASE");
  }
  const std::string deployment_directory = base::CanonicalPath(directory);
  if (!replaces && base::FileExists(base::JoinPath(deployment_directory, kAnchor))) {
    return base::AlreadyExistsError(
        deployment_directory +
        ": there is a deployment already, and a budget is never started anew; --replace takes one "
        "back that has charged nothing; if its ledger is lost, put the newest copy back "
        "(docs/operating.md, Restore)");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, ensemble::LockEnsemble(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_directory));
  const std::string unfinished = deployment_directory + ".unfinished";
  SUBMIX_ASSIGN_OR_RETURN(const bool finished,
                          FinishInterrupted(manifest, unfinished, deployment_directory));
  if (finished) return OpenDeployment(deployment_directory, DeploymentAccess::kReadOnly, make);
  // An interrupted call may have put it aside already.
  const bool takes_back = replaces && base::FileExists(deployment_directory);
  if (takes_back) SUBMIX_RETURN_IF_ERROR(RemoveUncharged(deployment_directory, manifest));
  Deployment made;
  SUBMIX_RETURN_IF_ERROR(Prepare({ensemble_directory, manifest}, options, make, made));
  DeploymentConfig& config = made.config;
  if (!takes_back) SUBMIX_RETURN_IF_ERROR(CheckIsFree(deployment_directory));
  config.ledger_location = ledger_location;
  SUBMIX_ASSIGN_OR_RETURN(const CarriedOver carried,
                          CarryOver(after, {manifest, config.options, *made.mechanism}, make));
  if (takes_back) {
    SUBMIX_RETURN_IF_ERROR(PutAside(deployment_directory, manifest, ensemble_directory));
  }
  config.earlier = carried.budgets;
  // Built beside its place and renamed at the end: a crash leaves no half deployment.
  SUBMIX_RETURN_IF_ERROR(BuildDeployment(unfinished, carried.spent, config));

  // The manifest first: a ledger that the ensemble does not know of must never be able to answer.
  ensemble::DeploymentEntry entry;
  entry.name = base::BaseName(deployment_directory);
  entry.directory = deployment_directory;
  entry.lineage = config.lineage;
  entry.mechanism = options.mechanism.name;
  entry.epsilon = options.epsilon;
  entry.order = options.mechanism.order.value();
  manifest.deployments.push_back(entry);
  SUBMIX_RETURN_IF_ERROR(ensemble::SaveManifest(manifest, ensemble_directory));
  SUBMIX_RETURN_IF_ERROR(base::Rename(unfinished, deployment_directory));
  return made;
}

Status CheckMayCharge(const std::string& deployment_directory, const Deployment& deployment) {
  if (deployment.has_ended) {
    return base::FailedPreconditionError(
        deployment_directory +
        ": ended: what it spent counts in a later deployment, made with --after; use that one");
  }
  return CheckIsNoCopy(deployment_directory, deployment.config, deployment.ensemble.manifest());
}

Status CheckMayBeServed(const std::string& deployment_directory, const Deployment& deployment,
                        bool allows_research) {
  if (deployment.mechanism->is_sound()) return base::OkStatus();
  const std::string name(deployment.mechanism->name());
  if (!deployment.config.options.research) {
    return base::FailedPreconditionError(
        deployment_directory +
        ": made by `submix deploy` without --research, and the guarantee of its mechanism " + name +
        " is not proven for every data set: it is not served");
  }
  if (allows_research) return base::OkStatus();
  return base::FailedPreconditionError(
      deployment_directory + ": the guarantee of its mechanism " + name +
      " is not proven for every data set; --research serves it all the same, as a model whose name "
      "ends in -research");
}

StatusOr<Deployment> OpenDeployment(const std::string& deployment_directory,
                                    DeploymentAccess access,
                                    const mechanism::MechanismMaker& make) {
  Deployment deployment;
  SUBMIX_ASSIGN_OR_RETURN(deployment.config, LoadDeploymentConfig(deployment_directory));
  SUBMIX_ASSIGN_OR_RETURN(deployment.ensemble,
                          OpenEnsembleOf(deployment_directory, deployment.config));
  const ensemble::OpenedEnsemble& ensemble = deployment.ensemble;
  SUBMIX_RETURN_IF_ERROR(ensemble.VerifyFiles());
  if (ensemble.fingerprint() != deployment.config.ensemble_fingerprint ||
      ensemble.manifest().has_public_keys() != deployment.config.public_keys) {
    return base::FailedPreconditionError(
        ensemble.directory() + ": changed after the deployment " + deployment_directory +
        " was made; restore the ensemble, or finish an interrupted `submix forget` by running it "
        "again");
  }
  SUBMIX_ASSIGN_OR_RETURN(deployment.public_training, ensemble.PublicCost());
  SUBMIX_ASSIGN_OR_RETURN(deployment.mechanism, MakeDeployable(deployment.config.options, make));
  const ledger::DurableLedgerOptions options =
      LedgerOptions(deployment_directory, deployment.config);
  auto ledger = access == DeploymentAccess::kCharge ? ledger::DurableLedger::Open(options)
                                                    : ledger::DurableLedger::OpenReadOnly(options);
  if (!ledger.ok()) {
    auto ended = ledger::DurableLedger::OpenReadOnly(EndedLedger(options));
    if (!ended.ok()) return ledger.status();
    deployment.has_ended = true;
    ledger = std::move(ended);
  }
  deployment.ledger = *std::move(ledger);
  SUBMIX_RETURN_IF_ERROR(CheckLineage(deployment, deployment_directory));
  if (access == DeploymentAccess::kCharge) {
    SUBMIX_RETURN_IF_ERROR(CheckMayCharge(deployment_directory, deployment));
  }
  return deployment;
}

}  // namespace submix::engine

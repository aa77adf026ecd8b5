// `submix key`: the API keys of a deployment.
#include <cstdio>
#include <limits>
#include <memory>
#include <string>

#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/apps/program_commands.h"
#include "submix/apps/serving/utc_time.h"
#include "submix/engine/api_keys.h"
#include "submix/engine/deployment.h"

namespace submix::apps {
namespace {

struct KeyOptions {
  std::string deployment;
  std::string name;
  std::string id;
  engine::KeyQuotas quotas;
  bool json = false;
};

// "7", or "7 of 100" under a quota.
std::string UseText(std::int64_t used, const std::optional<std::int64_t>& quota) {
  return std::to_string(used) + (quota ? " of " + std::to_string(*quota) : "");
}

nlohmann::json ToJson(const engine::ApiKey& key) {
  nlohmann::json object = {{"id", key.id}, {"name", key.name}, {"created", UtcTime(key.created)}};
  if (key.revoked) object["revoked"] = UtcTime(*key.revoked);
  if (key.quotas.tokens) object["max_tokens"] = *key.quotas.tokens;
  if (key.quotas.requests) object["max_requests"] = *key.quotas.requests;
  return object;
}

// A file that root leaves in another user's deployment could not be read by that user's server.
base::Status CheckOwner(const std::string& deployment) {
  struct stat directory {};
  if (::stat(deployment.c_str(), &directory) != 0 || directory.st_uid == ::geteuid()) {
    return base::OkStatus();
  }
  const passwd* owner = ::getpwuid(directory.st_uid);
  const std::string name =
      owner != nullptr ? owner->pw_name : "#" + std::to_string(directory.st_uid);
  return base::FailedPreconditionError(deployment + ": belongs to " + name +
                                       "; change its keys as that user: sudo -u " + name +
                                       " submix key ...");
}

base::Status RunCreate(const KeyOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::LoadDeploymentConfig(options.deployment).status());
  SUBMIX_RETURN_IF_ERROR(CheckOwner(options.deployment));
  engine::ApiKeys keys(options.deployment);
  SUBMIX_ASSIGN_OR_RETURN(const auto created, keys.Create(options.name, options.quotas));
  if (options.json) {
    nlohmann::json object = ToJson(created.key);
    object["secret"] = created.secret;
    std::printf("%s\n", object.dump().c_str());
    return base::OkStatus();
  }
  std::printf("%s\n\nThis is the key of \"%s\" (%s). It is stored nowhere and not shown again.\n",
              created.secret.c_str(), created.key.name.c_str(), created.key.id.c_str());
  return base::OkStatus();
}

base::Status RunList(const KeyOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::LoadDeploymentConfig(options.deployment).status());
  SUBMIX_ASSIGN_OR_RETURN(const auto keys, engine::ApiKeys(options.deployment).List());
  SUBMIX_ASSIGN_OR_RETURN(auto uses, engine::KeyUsage::Read(options.deployment));
  if (!options.json) {
    std::printf("%-20s  %-20s  %-20s  %-20s  %s\n", "id", "created", "tokens", "requests", "name");
  }
  for (const engine::ApiKey& key : keys) {
    const engine::KeyUse use = uses[key.id];
    if (options.json) {
      nlohmann::json object = ToJson(key);
      object["tokens"] = use.tokens;
      object["requests"] = use.requests;
      std::printf("%s\n", object.dump().c_str());
      continue;
    }
    std::printf("%-20s  %-20s  %-20s  %-20s  %s%s\n", key.id.c_str(), UtcTime(key.created).c_str(),
                UseText(use.tokens, key.quotas.tokens).c_str(),
                UseText(use.requests, key.quotas.requests).c_str(), key.name.c_str(),
                key.revoked ? " (revoked)" : "");
  }
  return base::OkStatus();
}

base::Status RunRevoke(const KeyOptions& options) {
  SUBMIX_RETURN_IF_ERROR(engine::LoadDeploymentConfig(options.deployment).status());
  SUBMIX_RETURN_IF_ERROR(CheckOwner(options.deployment));
  engine::ApiKeys keys(options.deployment);
  SUBMIX_RETURN_IF_ERROR(keys.Revoke(options.id));
  std::printf("%s is revoked.\n", options.id.c_str());
  return base::OkStatus();
}

CLI::App* AddVerb(CLI::App& command, const char* name, const char* summary,
                  base::Status (*run)(const KeyOptions&), std::shared_ptr<KeyOptions> options,
                  Action& action) {
  CLI::App* const verb = command.add_subcommand(name, summary);
  verb->add_option("deployment", options->deployment, "Directory made by `submix deploy`")
      ->required()
      ->check(CLI::ExistingDirectory);
  verb->callback([run, options, &action] { action = [run, options] { return run(*options); }; });
  return verb;
}

}  // namespace

void AddKeyCommand(CLI::App& command, Action& action) {
  const CLI::Range count_range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  auto options = std::make_shared<KeyOptions>();
  command.require_subcommand(1);
  CLI::App* const create =
      AddVerb(command, "create", "Make a key and show it, once", RunCreate, options, action);
  create->add_option("--name", options->name, "Whose key it is; one name, one valid key")
      ->required();
  create
      ->add_option("--max-tokens", options->quotas.tokens,
                   "The most tokens that it may get in its whole life")
      ->check(count_range);
  create
      ->add_option("--max-requests", options->quotas.requests,
                   "The most requests that it may make in its whole life")
      ->check(count_range);
  create->add_flag("--json", options->json, "One JSON object");
  CLI::App* const list =
      AddVerb(command, "list", "All keys and what they have used", RunList, options, action);
  list->add_flag("--json", options->json, "One JSON object a key");
  CLI::App* const revoke =
      AddVerb(command, "revoke", "Refuse a key from now on", RunRevoke, options, action);
  revoke->add_option("id", options->id, "Its id or name, as `submix key list` shows them")
      ->required();
  command.footer(
      "Works beside a running server. Quotas are views: what binds is the deployment's budget.\n"
      "Example: submix key create my_deployment --name alice --max-tokens 100000");
}

}  // namespace submix::apps

// `submix key`: the API keys of a deployment.
#include <cstdio>
#include <string>

#include <nlohmann/json.hpp>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/number_text.h"
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
  nlohmann::json object = {
      {"id", key.id}, {"name", key.name}, {"created", base::UtcTime(key.created)}};
  if (key.revoked) object["revoked"] = base::UtcTime(*key.revoked);
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
    std::printf("%-20s  %-20s  %-20s  %-20s  %s%s\n", key.id.c_str(),
                base::UtcTime(key.created).c_str(), UseText(use.tokens, key.quotas.tokens).c_str(),
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

// What each verb has.
KeyOptions& AddVerb(CLI::App& verb, Action& action, base::Status (*run)(const KeyOptions&)) {
  KeyOptions& options = SetAction<KeyOptions>(verb, action, run);
  Flags(verb).Require("deployment", options.deployment, kDirectory,
                      "Directory made by `submix deploy`");
  return options;
}

}  // namespace

void AddKeyCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  CLI::App& create = *command.add_subcommand("create", "Make a key and show it, once");
  KeyOptions& to_create = AddVerb(create, action, RunCreate);
  Flags flags(create);
  flags.Require("--name", to_create.name, "Whose key it is; one name, one valid key");
  flags.Add("--max-tokens", to_create.quotas.tokens, Between(0, 0x1p53),
            "The most tokens that it may get in its whole life");
  flags.Add("--max-requests", to_create.quotas.requests, Between(0, 0x1p53),
            "The most requests that it may make in its whole life; each choice counts as one");
  flags.Add("--json", to_create.json, "One JSON object");
  CLI::App& list = *command.add_subcommand("list", "All keys and what they have used");
  KeyOptions& to_list = AddVerb(list, action, RunList);
  Flags(list).Add("--json", to_list.json, "One JSON object a key");
  CLI::App& revoke = *command.add_subcommand("revoke", "Refuse a key from now on");
  KeyOptions& to_revoke = AddVerb(revoke, action, RunRevoke);
  Flags(revoke).Require("id", to_revoke.id, "Its id or name, as `submix key list` shows them");
  command.footer(
      "Works beside a running server. Quotas are views: what binds is the deployment's budget.\n"
      "Example: submix key create my_deployment --name alice --max-tokens 100000");
}

}  // namespace submix::apps

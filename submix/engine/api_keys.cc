#include "submix/engine/api_keys.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/random.h"
#include "submix/engine/engine_health.h"

namespace submix::engine {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;
using nlohmann::json;

constexpr int kKeysFormat = 1;
constexpr std::string_view kSecretPrefix = "sk-submix-";
constexpr int kOwnerOnly = 0600;
constexpr std::size_t kLongestName = 200;
constexpr std::chrono::milliseconds kSettled{100};

std::int64_t SecondsNow() {
  using namespace std::chrono;
  return duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
}

void PutIfAny(const char* name, const std::optional<std::int64_t>& value, json& object) {
  if (value) object[name] = *value;
}

json ToJson(const ApiKey& key) {
  json object = {{"id", key.id},
                 {"name", key.name},
                 {"secret_sha256", base::ToHex(key.secret_sha256)},
                 {"created", key.created}};
  PutIfAny("revoked", key.revoked, object);
  PutIfAny("max_tokens", key.quotas.tokens, object);
  PutIfAny("max_requests", key.quotas.requests, object);
  return object;
}

StatusOr<ApiKey> FromJson(const JsonObject& object) {
  ApiKey key;
  SUBMIX_ASSIGN_OR_RETURN(key.id, object.Text("id"));
  SUBMIX_ASSIGN_OR_RETURN(key.name, object.Text("name"));
  SUBMIX_ASSIGN_OR_RETURN(const std::string secret_sha256, object.Text("secret_sha256"));
  SUBMIX_ASSIGN_OR_RETURN(key.secret_sha256, base::Sha256FromHex(secret_sha256));
  SUBMIX_ASSIGN_OR_RETURN(key.created, object.Integer("created", INT64_MIN, INT64_MAX));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("revoked", key.revoked));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("max_tokens", key.quotas.tokens));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("max_requests", key.quotas.requests));
  return key;
}

StatusOr<std::vector<ApiKey>> ParseKeys(const std::string& text, const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject object,
                          JsonObject::Parse(text, "not a file of API keys: " + path));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t format, object.Integer("format", 1, INT64_MAX));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(path, format, kKeysFormat));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<JsonObject> entries, object.Objects("keys"));
  std::vector<ApiKey> keys;
  for (const JsonObject& entry : entries) {
    SUBMIX_ASSIGN_OR_RETURN(keys.emplace_back(), FromJson(entry));
  }
  return keys;
}

std::string WriteKeys(const std::vector<ApiKey>& keys) {
  json entries = json::array();
  for (const ApiKey& key : keys) entries.push_back(ToJson(key));
  return json{{"format", kKeysFormat}, {"keys", entries}}.dump(2) + "\n";
}

Status CheckNewKey(const std::string& name, const KeyQuotas& quotas) {
  if (name.empty()) return base::InvalidArgumentError("an API key needs a name");
  if (name.size() > kLongestName ||
      std::ranges::any_of(name, [](unsigned char c) { return c < ' ' || c == 127; })) {
    return base::InvalidArgumentError("the name of an API key is one line of at most " +
                                      std::to_string(kLongestName) + " bytes");
  }
  for (const auto& quota : {quotas.tokens, quotas.requests}) {
    if (quota && *quota < 0) {
      return base::InvalidArgumentError("a quota must not be negative, found " +
                                        std::to_string(*quota));
    }
  }
  return base::OkStatus();
}

}  // namespace

ApiKeys::ApiKeys(const std::string& deployment_directory)
    : path_(base::JoinPath(deployment_directory, "keys.json")) {}

StatusOr<std::vector<ApiKey>> ApiKeys::List() const {
  auto text = base::ReadFile(path_);
  if (!text.ok() && text.status().code() == base::StatusCode::kNotFound) {
    return std::vector<ApiKey>();
  }
  if (!text.ok()) return text.status();
  return ParseKeys(*text, path_);
}

StatusOr<std::shared_ptr<const ApiKeys::Index>> ApiKeys::Valid() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto version = base::VersionOf(path_);  // before the file: what is read is not older
  const std::lock_guard guard(mutex_);
  if (version.ok() && version_ == *version) return valid_;
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<ApiKey> keys, List());
  auto valid = std::make_shared<Index>();
  for (const ApiKey& key : keys) {
    if (!key.revoked) valid->emplace(key.secret_sha256, key);
  }
  valid_ = std::move(valid);
  version_.reset();
  // What is so new could change again, and have the same times.
  if (version.ok() && now - version->changed > kSettled) version_ = *version;
  return valid_;
}

Status ApiKeys::Change(const std::function<Status(std::vector<ApiKey>&)>& change) {
  SUBMIX_ASSIGN_OR_RETURN(const auto lock, base::LockFile(path_ + ".lock"));
  SUBMIX_ASSIGN_OR_RETURN(std::vector<ApiKey> keys, List());
  SUBMIX_RETURN_IF_ERROR(change(keys));
  return base::WriteFile(path_, WriteKeys(keys), kOwnerOnly);
}

StatusOr<NewApiKey> ApiKeys::Create(const std::string& name, const KeyQuotas& quotas) {
  SUBMIX_RETURN_IF_ERROR(CheckNewKey(name, quotas));
  NewApiKey created;
  created.secret = std::string(kSecretPrefix) + base::RandomHex(32);
  created.key = {"key_" + base::RandomHex(8),
                 name,
                 base::Sha256(created.secret),
                 SecondsNow(),
                 std::nullopt,
                 quotas};
  SUBMIX_RETURN_IF_ERROR(Change([&](std::vector<ApiKey>& keys) -> Status {
    for (const ApiKey& key : keys) {
      if (key.name != name || key.revoked) continue;
      return base::AlreadyExistsError("there is a key \"" + name + "\" already (" + key.id +
                                      "); revoke it, or take another name");
    }
    keys.push_back(created.key);
    return base::OkStatus();
  }));
  return created;
}

Status ApiKeys::Revoke(std::string_view id_or_name) {
  return Change([&](std::vector<ApiKey>& keys) -> Status {
    auto found = std::ranges::find(keys, id_or_name, &ApiKey::id);
    if (found == keys.end()) {
      found = std::ranges::find_if(
          keys, [&](const ApiKey& key) { return key.name == id_or_name && !key.revoked; });
    }
    if (found == keys.end()) {
      return base::NotFoundError(path_ + ": there is no API key " + std::string(id_or_name) +
                                 "; `submix key list` shows all");
    }
    if (!found->revoked) found->revoked = SecondsNow();
    return base::OkStatus();
  });
}

StatusOr<ApiKey> ApiKeys::Authenticate(std::string_view secret) const {
  const auto valid = Valid();
  LogChange(path_, was_readable_.exchange(valid.ok()), valid.status());
  if (!valid.ok()) return valid.status();
  const auto found = (*valid)->find(base::Sha256(secret));
  if (found == (*valid)->end()) {
    return base::NotFoundError("this API key does not exist, or is revoked");
  }
  return found->second;
}

}  // namespace submix::engine

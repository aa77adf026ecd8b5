// API keys of a deployment: 32 random bytes each, shown once, kept as a hash in a file of their
// own. Format: docs/deployment_format.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/status.h"
#include "submix/engine/key_usage.h"

namespace submix::engine {

struct ApiKey {
  std::string id;    // names the key in commands, counts and logs; no secret
  std::string name;  // the operator's, for people; not empty
  // SHA-256 of the secret: enough, since the secret is as random as a key can be.
  base::Sha256Digest secret_sha256{};
  std::int64_t created = 0;             // seconds since 1970, UTC
  std::optional<std::int64_t> revoked;  // likewise
  KeyQuotas quotas;
};

struct NewApiKey {
  ApiKey key;
  std::string secret;  // "sk-submix-" and 64 hex digits: the only time that it is seen
};

// Thread-safe. Beside other processes too: what one changes, all see at their next call.
class ApiKeys {
 public:
  explicit ApiKeys(const std::string& deployment_directory);

  // Errors: kInvalidArgument for an empty name, one of several lines or over 200 bytes, or negative
  // quotas; kAlreadyExists if a key of this name is not revoked; kUnavailable while another process
  // writes; those of List.
  base::StatusOr<NewApiKey> Create(const std::string& name, const KeyQuotas& quotas);
  // From now on the key of this id, or else the one of this name that is not revoked, is refused;
  // requests that run go on. Ok if the id's is revoked already. Errors: kNotFound; kUnavailable;
  // those of List.
  base::Status Revoke(std::string_view id_or_name);
  // All, in the order of their creation. Errors: kInvalidArgument for a damaged file,
  // kFailedPrecondition for a newer format, kInternal.
  base::StatusOr<std::vector<ApiKey>> List() const;

  // The key of this secret, found by its digest: the time that takes says nothing of any secret.
  // The file is read again only if it has changed. Errors: kNotFound if there is none that is not
  // revoked (401); those of List: then nobody gets in, and the log says why, once.
  base::StatusOr<ApiKey> Authenticate(std::string_view secret) const;

 private:
  // What is valid now, by digest.
  using Index = std::map<base::Sha256Digest, ApiKey>;
  base::StatusOr<std::shared_ptr<const Index>> Valid() const;
  base::Status Change(const std::function<base::Status(std::vector<ApiKey>&)>& change);

  const std::string path_;
  mutable std::atomic<bool> was_readable_ = true;  // at the last Authenticate
  mutable std::mutex mutex_;
  // Guarded by mutex_: which file was last read, and what it says.
  mutable std::optional<base::FileVersion> version_;
  mutable std::shared_ptr<const Index> valid_;
};

}  // namespace submix::engine

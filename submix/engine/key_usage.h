// How much each API key has used, beside the ledger: a view for quotas, never a budget. Kept in a
// small SQLite file of the deployment; format: docs/deployment_format.md.
//
// Tokens are counted before the request starts, as many as it may take, durably; what it did not
// take is given back when it ends. A crash loses what was not given back yet: counts may be too
// high by that, never too low. A file that is deleted or replaced while it is open counts nothing
// until it is back; if it is not, the end puts what was counted in its place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "submix/base/status.h"

namespace submix::engine {

// The most that one key may use in its whole life; nothing: no bound.
struct KeyQuotas {
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> requests;
};

struct KeyUse {
  std::int64_t tokens = 0;
  std::int64_t requests = 0;  // one for each choice

  KeyUse& operator+=(const KeyUse& other) {
    tokens += other.tokens;
    requests += other.requests;
    return *this;
  }
  friend bool operator==(const KeyUse&, const KeyUse&) = default;
};

// Thread-safe. Several processes may share one file.
class KeyUsage {
 public:
  // Opens the deployment's file, or makes it. Errors: kFailedPrecondition for a newer format or a
  // file that cannot be written; kDataLoss, kResourceExhausted.
  static base::StatusOr<std::unique_ptr<KeyUsage>> Open(const std::string& deployment_directory);
  // What is counted for every key that has used something, beside who counts. Errors: as Open.
  static base::StatusOr<std::map<std::string, KeyUse>> Read(
      const std::string& deployment_directory);
  // Writes what is still to be given back.
  virtual ~KeyUsage() = default;

  // Durably counts `use` for `key`, all of it or, if that exceeds a quota, nothing. Errors:
  // kFailedPrecondition if it does, and only then; kUnavailable if it could not be written, or was
  // taken away.
  virtual base::Status Reserve(const std::string& key, const KeyQuotas& quotas, KeyUse use) = 0;
  // Takes back what was reserved and not used. Touches no file: it is written with the next
  // reservation, or at the end.
  virtual void GiveBack(const std::string& key, KeyUse unused) = 0;
  // Writes what is to be given back. Writes in any case, and so finds out whether a reservation
  // could be written. Errors: kUnavailable if not.
  virtual base::Status Write() = 0;
};

}  // namespace submix::engine

// The keyed partition: which part and half a user belongs to is a keyed hash of the user key alone,
// so that no user's presence moves another (Theorem 5's assumption).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"

namespace submix::corpus {

struct PartitionOptions {
  int num_parts = 0;            // k >= 1
  int halves = 1;               // 1 or 2
  double heldout_fraction = 0;  // [0, 1): users kept for evaluation, never trained on
};

struct Placement {
  bool is_heldout = false;
  base::PartId part;  // meaningless if held out
  int half = 0;
};

// Draws a fresh key from the operating system's entropy.
base::HashKey NewPartitionKey();
// Reads and writes 32 raw bytes; written with mode 0600. Errors: kNotFound, kDataLoss (wrong size).
base::StatusOr<base::HashKey> LoadPartitionKey(const std::string& path);
base::Status SavePartitionKey(const base::HashKey& key, const std::string& path);
// What may be shown of a key: the first 16 hex digits of a hash of it.
std::string PartitionKeyId(const base::HashKey& key);

// Three independent hashes of the user key (domain-separated): held out or not, part, half. Does
// not depend on any other user. Changing num_parts moves users; changing heldout_fraction moves
// none between parts. Requires: options in range.
Placement PlaceUser(const base::HashKey& key, std::string_view user,
                    const PartitionOptions& options);

// Which of `batches` disjoint batches of parts a user belongs to, in [0, batches): a hash of its
// own. Requires: batches >= 1.
int BatchOf(const base::HashKey& key, std::string_view user, int batches);

// One user for each part, by rank of a hash of the user key: of `users` who are not held out
// (PlaceUser), the num_parts smallest, part 0's first; fewer if there are fewer. Who is listed
// moves others, so the list must be public. Requires: options in range.
std::vector<std::string> DealUsers(const base::HashKey& key, const std::set<std::string>& users,
                                   const PartitionOptions& options);

// A short, keyed name of a user, 16 hex digits: for records that members read, and for the
// manifest, of those that were forgotten.
std::string ForgottenMark(const base::HashKey& key, std::string_view user);

}  // namespace submix::corpus

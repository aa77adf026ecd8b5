// What private answers promise when the public model that they fall back on was itself trained with
// differential privacy (docs/privacy.md, Theorem 15).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/promise.h"
#include "submix/accounting/subsampled_gaussian_rdp.h"

namespace submix::accounting {

// How the public model came about.
struct PublicCost {
  std::string mechanism;  // "dp-sgd"
  SubsampledGaussianRun step;
  std::int64_t steps = 0;
  PrivacyUnit unit = PrivacyUnit::kUserKey;  // whose presence it protects
  // Whether its users may be users of the ensemble above it. If not, no user is in both corpora.
  bool same_users = true;
  // Whether a user whose records are empty trains nothing, as one who is absent.
  bool empty_is_absent = true;
};

// What the training itself promises, at all orders at once.
PrivacyStatement TrainingStatement(const PublicCost& training, double delta);

// With the same users: the sum of both losses for one user present or absent, and that nothing
// follows for a part; where nothing follows for a user, that. With other users: what the answers
// promise, then what the training promises to its own; each user is in one of the two corpora.
Promise PromiseAbovePublicTraining(const PrivacyStatement& answers, const PublicCost& training);

// Both losses for one user key who is in both corpora, present or absent; with public keys, whose
// records are emptied or not. At each order the sum, over all answers together. Empty: nothing
// follows, since the answers are not proven for every data set, say nothing of users, the training
// protects documents, or with public keys a user whose records are empty has trained.
std::vector<RdpBound> AddedUserBounds(const PrivacyStatement& answers, const PublicCost& training);

}  // namespace submix::accounting

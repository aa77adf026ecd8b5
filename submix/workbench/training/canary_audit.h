// Private training put to the test: many small trainings, in each of which one more user, the
// canary, is there or not by a coin. Whoever holds what a training released scores whether the
// canary was there; two worlds that scores tell apart better than the promise allows refute it
// (eval/audits/epsilon_audit.h). Canaries: arXiv 2503.06808 (tokens that nobody else has),
// 2502.14921 (a beginning like others', with a completion that is unlike any text).
//
// This is the operator's view, outside the budget (contract 7).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/accounting/rdp_conversion.h"
#include "submix/base/status.h"
#include "submix/corpus/user_records.h"
#include "submix/train/private_training/dp_sgd.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

enum class CanaryKind {
  kNewTokens,      // tokens that the others' text does not have
  kOddCompletion,  // the beginning of a user's text, and random tokens behind it, which are learnt
};

struct CanaryAuditRequest {
  std::string public_directory;
  corpus::CorpusFile corpus;  // the other users'
  std::int64_t users = 32;    // of them, the first by key, and of each the first block
  CanaryKind kind = CanaryKind::kNewTokens;
  int canary_tokens = 16;  // of it that are learnt, 1 or more
  int runs = 400;          // at least 8
  double sampling_probability = 0.5;
  accounting::EpsilonBound target = {4, accounting::kDefaultDelta};  // with the least noise for it
  // expected_batch is not read: it follows from the users.
  train::DpSgdOptions training;
  // Of the noise that is accounted for, what is added: below 1 the trainings have a mistake, which
  // the audit should find.
  double noise_share = 1;
  std::uint64_t seed = 0;  // of coins, canary and noise
  ModelOptions predictor;
};

struct CanaryAudit {
  // The canary's gain in nats by a training, of trainings with it and without it.
  std::vector<double> with;
  std::vector<double> without;
  double noise_multiplier = 0;              // that is accounted for
  accounting::PrivacyStatement statement;   // of one training
  accounting::BestConversion claimed = {};  // at the target's delta
};

// Shows a progress bar. Errors: those of reading, of NoiseForSteps and of training;
// kInvalidArgument for fewer users than asked for, for numbers out of range, and where the model
// has no tokens that the others lack; kUnimplemented in `submix`, which leaves `audit canaries` to
// `submix-train`.
base::StatusOr<CanaryAudit> AuditByCanaries(const CanaryAuditRequest& request);

}  // namespace submix::workbench

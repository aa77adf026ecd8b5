// A mechanism that answers under a budget of its own, for the operator's eyes: no token is drawn,
// probabilities are read (contract 7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/eval/measuring/perplexity_runs.h"
#include "submix/ledger/ledger.h"
#include "submix/mechanism/mechanism.h"

namespace submix::eval {

struct SimulatedOptions {
  std::shared_ptr<const mechanism::Mechanism> mechanism;
  int num_parts = 1;
  double epsilon = 2;  // budget of every part, nats
  int halves = 1;      // members a part that are there
};

// One thread at a time.
class SimulatedDeployment {
 public:
  // With fresh budgets. Errors: kInvalidArgument for too few halves.
  static base::StatusOr<SimulatedDeployment> Create(const SimulatedOptions& options,
                                                    std::unique_ptr<base::RandomSource> random);

  // Scores one token: what the true token's support index gets.
  base::StatusOr<TokenScore> Answer(const mechanism::PartPredictions& predictions,
                                    std::size_t true_index);
  // Scores one token; writes the probability of every token of the support, [V]. With a mechanism
  // that has randomness of its own, given what it drew.
  base::Status Answer(const mechanism::PartPredictions& predictions, std::span<double> law);

  // [num_parts], rounded up.
  base::StatusOr<std::vector<double>> SpentNats() const;

 private:
  base::StatusOr<mechanism::PrivateMixture> Release(const mechanism::PartPredictions& predictions);
  base::StatusOr<ledger::Receipt> Charge(const mechanism::Proposal& proposal);

  std::unique_ptr<base::RandomSource> random_;
  std::shared_ptr<const mechanism::Mechanism> mechanism_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::uint64_t releases_ = 0;
};

}  // namespace submix::eval

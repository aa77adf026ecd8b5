// The audit that needs one run (Steinke, Nasr and Jagielski 2023): every part of one deployment is
// there or replaced by the public model by a coin of its own, and all coins are guessed from what
// that one deployment served. Under (epsilon, delta) for each part, right guesses are no better
// than coins of bias 1 / (1 + e^-epsilon), but for delta. Several runs, each with fresh coins, are
// one run with more parts.
//
// This is the operator's view, outside the budget (contract 7).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::eval {

// What was guessed of so many coins. Requires: 0 <= right <= guessed <= coins.
struct CoinGuesses {
  std::int64_t coins = 0;
  std::int64_t guessed = 0;  // the others were passed over
  std::int64_t right = 0;
};

// The probability of that many right guesses under (epsilon, delta), at most (Theorem 5.2).
double OneRunPValue(const CoinGuesses& guesses, double epsilon, double delta);
// The largest epsilon that is rejected at this error; 0 if none is.
double OneRunEpsilon(const CoinGuesses& guesses, double delta, double error);

// One part of one run.
struct ScoredCoin {
  bool is_there = false;
  double score = 0;  // above zero: it looks as if it were there
};

// Half of the coins choose how sure one must be to guess, the other half are guessed. With fewer
// than four coins all are guessed.
struct OneRunAudit {
  CoinGuesses guesses;
  double epsilon = 0;
};
OneRunAudit AuditCoins(const std::vector<ScoredCoin>& coins, double delta, double error);

struct OneRunOptions {
  int runs = 1;  // each with fresh budgets
  std::uint64_t seed = 0;
};

// Plays it: the transcripts of all runs grow together, by one token a query. A part's score is the
// log likelihood ratio of the transcript with and without it, when every other part is halfway
// between there and not there. One thread at a time.
class OneRunGame {
 public:
  // Errors: kInvalidArgument if the mechanism needs more halves, or runs < 1.
  static base::StatusOr<OneRunGame> Create(const SimulatedOptions& simulated,
                                           const OneRunOptions& options);

  // One query: what the models say if all parts are there. Errors: the mechanism's.
  base::Status Ask(const mechanism::PartPredictions& predictions);

  // [runs * num_parts], run by run.
  const std::vector<ScoredCoin>& coins() const { return coins_; }

 private:
  OneRunGame() = default;
  base::Status CompareReferences(const mechanism::PartPredictions& predictions);
  base::Status ServeRun(const mechanism::PartPredictions& predictions, std::size_t run);
  mechanism::PartPredictions Weighed(const mechanism::PartPredictions& predictions,
                                     const std::vector<double>& weights);

  SimulatedOptions simulated_;
  std::vector<SimulatedDeployment> runs_;
  std::vector<SimulatedDeployment> references_;  // [2 * num_parts]: part i there, part i not there
  std::unique_ptr<base::RandomSource> tokens_;
  std::vector<ScoredCoin> coins_;
  std::vector<double> ratios_;       // [num_parts, V]
  std::vector<double> law_;          // [V]
  std::vector<double> other_law_;    // [V]
  std::vector<double> member_pmfs_;  // [num_parts * halves, V]
};

}  // namespace submix::eval

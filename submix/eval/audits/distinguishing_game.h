// The game behind membership inference and audits. Transcripts of a deployment's answers to the
// same queries are drawn in two worlds, with and without one unit's text, and each gets its log
// likelihood ratio: the statistic of the Neyman-Pearson attacker, who knows what the models say in
// both worlds. No attacker does better at any false positive rate.
//
// This is the operator's view, outside the budget (contract 7).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::eval {

struct GameOptions {
  int transcripts = 1000;  // drawn in each world, independently
  // At which FirstAnswerDivergence compares.
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  std::uint64_t seed = 0;
};

// The transcripts, each with fresh budgets, grow together, by one token a query. One thread at a
// time.
//
// A mechanism without randomness of its own has one law a query, and the ratios are exact. With
// such randomness (noise, secret subsets) every transcript has a deployment of its own, and the
// ratios are of laws averaged over further deployments, which the attacker learns from: still
// a valid test, but not quite the best one.
class DistinguishingGame {
 public:
  // Errors: kInvalidArgument if transcripts < 2 or the mechanism needs more halves.
  static base::StatusOr<DistinguishingGame> Create(const SimulatedOptions& simulated,
                                                   const GameOptions& options);

  // One query, in both worlds. Requires: the same support. Errors: the mechanism's; kUnimplemented
  // for a mechanism that begins to draw after its first answer.
  base::Status Ask(const mechanism::PartPredictions& with,
                   const mechanism::PartPredictions& without);

  // How far apart the two worlds' laws of a first answer are, at the order and for one draw of the
  // mechanism's own randomness: for choosing queries. Leaves the game as it is.
  base::StatusOr<double> FirstAnswerDivergence(const mechanism::PartPredictions& with,
                                               const mechanism::PartPredictions& without) const;

  // [transcripts] log P(transcript with the text) / P(transcript without it), in nats, of the
  // transcripts drawn with it and without it. May be infinite, never NaN.
  const std::vector<double>& with() const { return with_.log_ratios; }
  const std::vector<double>& without() const { return without_.log_ratios; }

 private:
  struct World {
    std::vector<SimulatedDeployment> deployments;
    std::unique_ptr<base::RandomSource> random;  // of the tokens
    std::vector<double> law;                     // [V], what the attacker knows of the next token
    std::vector<double> log_ratios;              // [transcripts]
  };

  DistinguishingGame() = default;
  base::Status Deploy(World& world, std::size_t count);
  base::Status Learn(World& world, const mechanism::PartPredictions& predictions);
  base::Status Draw(World& world, const mechanism::PartPredictions& predictions);
  void CompareLaws();
  base::Status CheckWhetherItDraws();

  SimulatedOptions simulated_;
  GameOptions options_;
  World with_;
  World without_;
  bool is_first_ = true;
  bool draws_ = false;  // the mechanism has randomness of its own
  std::uint64_t deployed_ = 0;
  std::shared_ptr<bool> has_drawn_ = std::make_shared<bool>(false);
  std::vector<double> ratios_;      // [V] log ratios of the next token
  bool laws_differ_ = false;        // else no token tells anything
  std::vector<double> cumulative_;  // [V]
  std::vector<double> own_law_;     // [V], of one transcript's deployment
};

}  // namespace submix::eval

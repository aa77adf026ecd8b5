#include "submix/eval/audits/one_run_audit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "submix/eval/audits/roc_curve.h"
#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

constexpr double kMostEpsilon = 64;
// Numbers of guesses that are tried grow by this factor.
constexpr double kGuessStep = 1.1;
// A score needs no more; a token that one reference rules out would end it.
constexpr double kMostRatio = 30;

CoinGuesses GuessFrom(std::span<const ScoredCoin> coins, double least_score) {
  CoinGuesses guesses;
  guesses.coins = std::ssize(coins);
  for (const ScoredCoin& coin : coins) {
    if (!(std::abs(coin.score) >= least_score)) continue;
    ++guesses.guessed;
    guesses.right += (coin.score > 0) == coin.is_there ? 1 : 0;
  }
  return guesses;
}

double BoundedLogRatio(double with, double without) {
  if (with == without) return 0;
  return std::clamp(std::log(with) - std::log(without), -kMostRatio, kMostRatio);
}

// How sure one must be, by what proves most of these coins without delta.
double ChooseLeastScore(std::span<const ScoredCoin> coins, double error) {
  std::vector<double> scores;
  for (const ScoredCoin& coin : coins) scores.push_back(std::abs(coin.score));
  std::sort(scores.begin(), scores.end(), std::greater<>());
  double least_score = 0;
  double most = -1;
  for (double rank = 0; rank < static_cast<double>(scores.size());
       rank = std::max(rank + 1, rank * kGuessStep)) {
    const double score = scores[static_cast<std::size_t>(rank)];
    const double proven = OneRunEpsilon(GuessFrom(coins, score), /*delta=*/0, error);
    if (proven > most) {
      most = proven;
      least_score = score;
    }
  }
  return least_score;
}

}  // namespace

double OneRunPValue(const CoinGuesses& guesses, double epsilon, double delta) {
  const double bias = 1 / (1 + std::exp(-epsilon));
  const double as_many = BinomialUpperTail(guesses.right, guesses.guessed, bias);
  double most = 0;
  for (std::int64_t i = 1; delta > 0 && i <= guesses.right; ++i) {
    const double nearly = BinomialUpperTail(guesses.right - i, guesses.guessed, bias);
    most = std::max(most, (nearly - as_many) / static_cast<double>(i));
  }
  return std::min(1.0, as_many + 2 * static_cast<double>(guesses.coins) * most * delta);
}

double OneRunEpsilon(const CoinGuesses& guesses, double delta, double error) {
  const auto is_rejected = [&](double epsilon) {
    return OneRunPValue(guesses, epsilon, delta) < error;
  };
  if (!is_rejected(0)) return 0;
  double rejected = 0;
  double open = kMostEpsilon;
  for (int i = 0; i < 60; ++i) {
    const double middle = (rejected + open) / 2;
    (is_rejected(middle) ? rejected : open) = middle;
  }
  return rejected;
}

OneRunAudit AuditCoins(const std::vector<ScoredCoin>& coins, double delta, double error) {
  std::span<const ScoredCoin> proving = coins;
  double least_score = 0;
  if (coins.size() >= 4) {
    least_score = ChooseLeastScore(proving.first(coins.size() / 2), error);
    proving = proving.subspan(coins.size() / 2);
  }
  const CoinGuesses guesses = GuessFrom(proving, least_score);
  return {guesses, OneRunEpsilon(guesses, delta, error)};
}

StatusOr<OneRunGame> OneRunGame::Create(const SimulatedOptions& simulated,
                                        const OneRunOptions& options) {
  if (options.runs < 1) return base::InvalidArgumentError("runs: expected at least 1");
  OneRunGame game;
  game.simulated_ = simulated;
  game.tokens_ = RepeatableDraws(options.seed, "tokens of runs");
  const auto coins = RepeatableDraws(options.seed, "coins");
  for (int i = 0; i < options.runs * simulated.num_parts; ++i) {
    game.coins_.push_back({coins->NextBernoulli(1, 2), 0});
  }
  const auto deploy = [&](std::vector<SimulatedDeployment>& deployments, const char* purpose,
                          int count) -> Status {
    for (int i = 0; i < count; ++i) {
      auto random = RepeatableDraws(options.seed, purpose, static_cast<std::uint64_t>(i));
      SUBMIX_ASSIGN_OR_RETURN(deployments.emplace_back(),
                              SimulatedDeployment::Create(simulated, std::move(random)));
    }
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(deploy(game.runs_, "runs", options.runs));
  SUBMIX_RETURN_IF_ERROR(deploy(game.references_, "references", 2 * simulated.num_parts));
  return game;
}

Status OneRunGame::Ask(const mechanism::PartPredictions& predictions) {
  const std::size_t support_size = predictions.support_size();
  law_.resize(support_size);
  other_law_.resize(support_size);
  ratios_.resize(support_size * static_cast<std::size_t>(simulated_.num_parts));
  SUBMIX_RETURN_IF_ERROR(CompareReferences(predictions));
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    SUBMIX_RETURN_IF_ERROR(ServeRun(predictions, run));
  }
  return base::OkStatus();
}

// Each part as far between the public model (0) and itself (1) as its weight says. Valid until the
// next call.
mechanism::PartPredictions OneRunGame::Weighed(const mechanism::PartPredictions& predictions,
                                               const std::vector<double>& weights) {
  const std::size_t size = predictions.support_size();
  member_pmfs_.assign(predictions.member_pmfs.begin(), predictions.member_pmfs.end());
  for (std::size_t row = 0; row * size < member_pmfs_.size(); ++row) {
    const double weight = weights[row / static_cast<std::size_t>(simulated_.halves)];
    for (std::size_t x = 0; x < size; ++x) {
      double& p = member_pmfs_[row * size + x];
      p = weight * p + (1 - weight) * predictions.public_pmf[x];
    }
  }
  mechanism::PartPredictions weighed = predictions;
  weighed.member_pmfs = member_pmfs_;
  return weighed;
}

Status OneRunGame::CompareReferences(const mechanism::PartPredictions& predictions) {
  std::vector<double> weights(static_cast<std::size_t>(simulated_.num_parts), 0.5);
  for (std::size_t part = 0; part < weights.size(); ++part) {
    weights[part] = 1;
    SUBMIX_RETURN_IF_ERROR(references_[2 * part].Answer(Weighed(predictions, weights), law_));
    weights[part] = 0;
    SUBMIX_RETURN_IF_ERROR(
        references_[2 * part + 1].Answer(Weighed(predictions, weights), other_law_));
    weights[part] = 0.5;
    for (std::size_t x = 0; x < law_.size(); ++x) {
      ratios_[part * law_.size() + x] = BoundedLogRatio(law_[x], other_law_[x]);
    }
  }
  return base::OkStatus();
}

Status OneRunGame::ServeRun(const mechanism::PartPredictions& predictions, std::size_t run) {
  const auto num_parts = static_cast<std::size_t>(simulated_.num_parts);
  const auto coins = std::span(coins_).subspan(run * num_parts, num_parts);
  std::vector<double> weights;
  for (const ScoredCoin& coin : coins) weights.push_back(coin.is_there ? 1 : 0);
  SUBMIX_RETURN_IF_ERROR(runs_[run].Answer(Weighed(predictions, weights), law_));
  const std::size_t token = DrawIndex(law_, *tokens_);
  for (std::size_t part = 0; part < num_parts; ++part) {
    coins[part].score += ratios_[part * law_.size() + token];
  }
  return base::OkStatus();
}

}  // namespace submix::eval

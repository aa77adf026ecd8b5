#include "submix/eval/audits/distinguishing_game.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "submix/divergence/renyi_divergence.h"
#include "submix/eval/measuring/repeatable_draws.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

// From how many deployments the attacker learns the law of a mechanism that draws.
constexpr std::size_t kTeachers = 256;

// Notes whether anything was drawn.
class WatchedRandom final : public base::RandomSource {
 public:
  WatchedRandom(std::unique_ptr<base::RandomSource> random, std::shared_ptr<bool> has_drawn)
      : random_(std::move(random)), has_drawn_(std::move(has_drawn)) {}
  void Fill(std::span<std::byte> bytes) override {
    *has_drawn_ = true;
    random_->Fill(bytes);
  }

 private:
  std::unique_ptr<base::RandomSource> random_;
  std::shared_ptr<bool> has_drawn_;
};

// Infinite ratios stay: one impossible token decides.
double LogRatio(double with, double without) {
  return with == without ? 0 : std::log(with) - std::log(without);
}

}  // namespace

StatusOr<DistinguishingGame> DistinguishingGame::Create(const SimulatedOptions& simulated,
                                                        const GameOptions& options) {
  if (options.transcripts < 2) {
    return base::InvalidArgumentError("transcripts: expected at least 2 in each world, found " +
                                      std::to_string(options.transcripts));
  }
  DistinguishingGame game;
  game.simulated_ = simulated;
  game.options_ = options;
  for (World* world : {&game.with_, &game.without_}) {
    const char* const purpose = world == &game.with_ ? "tokens with" : "tokens without";
    world->random = RepeatableDraws(options.seed, purpose);
    world->log_ratios.assign(static_cast<std::size_t>(options.transcripts), 0);
    SUBMIX_RETURN_IF_ERROR(game.Deploy(*world, 1));
  }
  return game;
}

Status DistinguishingGame::Deploy(World& world, std::size_t count) {
  while (world.deployments.size() < count) {
    auto random = std::make_unique<WatchedRandom>(
        RepeatableDraws(options_.seed, "mechanism", deployed_++), has_drawn_);
    SUBMIX_ASSIGN_OR_RETURN(world.deployments.emplace_back(),
                            SimulatedDeployment::Create(simulated_, std::move(random)));
  }
  return base::OkStatus();
}

Status DistinguishingGame::Ask(const mechanism::PartPredictions& with,
                               const mechanism::PartPredictions& without) {
  SUBMIX_RETURN_IF_ERROR(Learn(with_, with));
  SUBMIX_RETURN_IF_ERROR(Learn(without_, without));
  CompareLaws();
  SUBMIX_RETURN_IF_ERROR(Draw(with_, with));
  return Draw(without_, without);
}

StatusOr<double> DistinguishingGame::FirstAnswerDivergence(
    const mechanism::PartPredictions& with, const mechanism::PartPredictions& without) const {
  std::vector<std::vector<double>> laws;
  for (const mechanism::PartPredictions* predictions : {&with, &without}) {
    SUBMIX_ASSIGN_OR_RETURN(
        auto deployment,
        SimulatedDeployment::Create(simulated_, RepeatableDraws(options_.seed, "first")));
    laws.emplace_back(predictions->support_size());
    SUBMIX_RETURN_IF_ERROR(deployment.Answer(*predictions, laws.back()));
  }
  return divergence::SymmetricRenyiDivergence(laws[0], laws[1], options_.order);
}

// The teachers are the first deployments of a world; the transcripts' own come after them.
Status DistinguishingGame::Learn(World& world, const mechanism::PartPredictions& predictions) {
  world.law.resize(predictions.support_size());
  own_law_.resize(predictions.support_size());
  SUBMIX_RETURN_IF_ERROR(world.deployments[0].Answer(predictions, world.law));
  SUBMIX_RETURN_IF_ERROR(CheckWhetherItDraws());
  if (!draws_) return base::OkStatus();
  SUBMIX_RETURN_IF_ERROR(Deploy(world, kTeachers + static_cast<std::size_t>(options_.transcripts)));
  for (std::size_t teacher = 1; teacher < kTeachers; ++teacher) {
    SUBMIX_RETURN_IF_ERROR(world.deployments[teacher].Answer(predictions, own_law_));
    for (std::size_t x = 0; x < own_law_.size(); ++x) world.law[x] += own_law_[x];
  }
  // The public pmf as one teacher more: what no teacher gave is not impossible.
  for (std::size_t x = 0; x < own_law_.size(); ++x) {
    world.law[x] = (world.law[x] + predictions.public_pmf[x]) / (kTeachers + 1);
  }
  return base::OkStatus();
}

Status DistinguishingGame::CheckWhetherItDraws() {
  if (is_first_) draws_ = *has_drawn_;
  if (*has_drawn_ && !draws_) {
    return base::UnimplementedError("the mechanism " + std::string(simulated_.mechanism->name()) +
                                    " draws at some answers only");
  }
  return base::OkStatus();
}

void DistinguishingGame::CompareLaws() {
  is_first_ = false;
  ratios_.resize(with_.law.size());
  laws_differ_ = false;
  for (std::size_t x = 0; x < ratios_.size(); ++x) {
    ratios_[x] = LogRatio(with_.law[x], without_.law[x]);
    laws_differ_ = laws_differ_ || ratios_[x] != 0;
  }
}

Status DistinguishingGame::Draw(World& world, const mechanism::PartPredictions& predictions) {
  if (!laws_differ_ && !draws_) return base::OkStatus();
  cumulative_.resize(predictions.support_size());
  std::partial_sum(world.law.begin(), world.law.end(), cumulative_.begin());
  for (std::size_t t = 0; t < world.log_ratios.size(); ++t) {
    if (draws_) {
      SUBMIX_RETURN_IF_ERROR(world.deployments[kTeachers + t].Answer(predictions, own_law_));
      world.log_ratios[t] += ratios_[DrawIndex(own_law_, *world.random)];
      continue;
    }
    const double at = DrawUnit(*world.random) * cumulative_.back();
    const auto token = std::upper_bound(cumulative_.begin(), cumulative_.end(), at);
    const auto last = static_cast<std::ptrdiff_t>(cumulative_.size()) - 1;
    world.log_ratios[t] +=
        ratios_[static_cast<std::size_t>(std::min(token - cumulative_.begin(), last))];
  }
  return base::OkStatus();
}

}  // namespace submix::eval

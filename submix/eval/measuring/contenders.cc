#include "submix/eval/measuring/contenders.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "submix/accounting/calculators/counted_release.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/accounting/calculators/step_budget.h"
#include "submix/accounting/trained_public.h"
#include "submix/base/number_text.h"
#include "submix/eval/measuring/expected_share.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/mechanism/declaring/recommended_options.h"
#include "submix/mechanism/declaring/user_budget.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

constexpr const char* kEnsembles[] = {"dclip", "filtered-submix"};
constexpr int kParts[] = {16, 32, 64, 128, 256, 512};
// With fewer users a part would often have none; with fewer tokens there is little to learn.
constexpr double kLeastUsersAPart = 4;
constexpr double kLeastTokensAPart = 2000;
// From so many tokens a part `submix train --tokens-a-part` reads them three times.
constexpr double kReadThriceTokens = 20'000;
// `submix train --private dp-sgd`: an eighth of the users a step, ten passes over them.
constexpr double kShareOfUsers = 1.0 / 8;
constexpr int kDpSgdPasses = 10;

Status CheckInput(const PlanInput& input) {
  const auto refuse = [](const std::string& what, const std::string& range, double found) {
    return base::InvalidArgumentError(what + ": expected " + range + ", found " +
                                      base::NumberText(found));
  };
  if (!(input.users >= 1 && input.users <= 0x1p53)) {
    return refuse("users", "1 or more", input.users);
  }
  if (!(input.tokens_a_user > 0 && std::isfinite(input.tokens_a_user))) {
    return refuse("tokens per user", "more than 0", input.tokens_a_user);
  }
  if (!(input.epsilon > 0 && std::isfinite(input.epsilon))) {
    return refuse("epsilon", "more than 0", input.epsilon);
  }
  if (!(input.delta > 0 && input.delta < 1)) return refuse("delta", "in (0, 1)", input.delta);
  if (input.tokens < 1) {
    return refuse("tokens", "1 or more", static_cast<double>(input.tokens));
  }
  return base::OkStatus();
}

// --- Ensembles

bool HasTextFor(int parts, const PlanInput& input) {
  return input.users >= kLeastUsersAPart * parts &&
         input.users * input.tokens_a_user >= kLeastTokensAPart * parts;
}

// Three passes where the recipe has them and they were measured; else the one that every other
// measurement is of, unless nothing was measured at all.
void ExpectOfEnsemble(Contender& ensemble) {
  const PlanInput& input = ensemble.input;
  ensemble.tokens_a_part = input.users * input.tokens_a_user / ensemble.parts;
  const bool is_read_thrice = ensemble.tokens_a_part >= kReadThriceTokens;
  ensemble.passes = is_read_thrice ? 3 : 1;
  ensemble.recipe = "";
  for (const int passes : {3, 1}) {
    const std::string_view recipe = MeasuredRecipe(input.model, passes);
    if (passes == 3 && !is_read_thrice && recipe.empty()) continue;
    ensemble.expected_share = ExpectedShare(
        ensemble.mechanism,
        {ensemble.parts, input.tokens_a_user, ensemble.tokens_a_part, passes, input.model},
        ensemble.reach());
    if (!ensemble.expected_share) continue;
    ensemble.passes = passes;
    ensemble.recipe = recipe;
    return;
  }
}

// As the declared mechanism states it.
StatusOr<double> PartEpsilon(const mechanism::PartBudget& declared, double delta) {
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, mechanism::MakeMechanism(declared.mechanism));
  const auto statement = mechanism->Statement(accounting::FixedNats::RoundDown(declared.epsilon));
  SUBMIX_ASSIGN_OR_RETURN(const auto best,
                          accounting::BestEpsilon(accounting::StatedBounds(statement), delta,
                                                  accounting::ConversionKind::kImproved));
  return best.epsilon;
}

Status SetWindow(const mechanism::PartBudget& declared, Contender& ensemble) {
  SUBMIX_ASSIGN_OR_RETURN(const auto dclip, mechanism::DClip::Create(declared.mechanism));
  ensemble.clip = dclip->clip();
  ensemble.tokens =
      accounting::FixedNats::RoundDown(declared.epsilon).units() / dclip->charge().units();
  return base::OkStatus();
}

StatusOr<Contender> Ensemble(const std::string& name, int parts, const PlanInput& input,
                             const std::optional<accounting::PublicCost>& training = {}) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = parts;
  mechanism::Recommend(parts, input.tokens, options);
  SUBMIX_ASSIGN_OR_RETURN(const auto declared,
                          mechanism::DeclareBudget(options,
                                                   {.epsilon = input.epsilon,
                                                    .for_users = true,
                                                    .delta = input.delta,
                                                    .tokens = input.tokens,
                                                    .public_training = training},
                                                   mechanism::MakeMechanism));
  // An account's smallest charge is a unit.
  if (accounting::FixedNats::RoundDown(declared.epsilon).units() < input.tokens) {
    return base::InvalidArgumentError(name + ": no budget within epsilon " +
                                      base::NumberText(input.epsilon) + " pays for " +
                                      std::to_string(input.tokens) + " tokens");
  }
  Contender ensemble = {.input = input, .mechanism = name, .parts = parts};
  ensemble.order = declared.mechanism.order;
  ensemble.target_leakage = declared.mechanism.target_leakage;
  ensemble.tokens = input.tokens;
  if (name == mechanism::kDClipName) SUBMIX_RETURN_IF_ERROR(SetWindow(declared, ensemble));
  SUBMIX_ASSIGN_OR_RETURN(ensemble.part_epsilon, PartEpsilon(declared, input.delta));
  ensemble.user_epsilon = declared.user_epsilon;
  ExpectOfEnsemble(ensemble);
  return ensemble;
}

// --- Private training

// As it was measured, else as `submix train` does it.
StatusOr<Contender> DpSgd(const PlanInput& input, const std::optional<DpSgdExperience>& known) {
  Contender training = {.input = input, .mechanism = "dp-sgd"};
  training.tokens_a_part = input.users * input.tokens_a_user;
  training.passes = kDpSgdPasses;
  training.sampling_probability = kShareOfUsers;
  if (known) {
    training.passes = known->passes;
    training.sampling_probability = known->share_of_users;
    training.rank = known->rank;
    training.dp_sgd_recipe = known->recipe;
    training.expected_share = known->kept;
  }
  const double share = training.sampling_probability;
  training.steps = static_cast<std::int64_t>(std::ceil(training.passes / share));
  SUBMIX_ASSIGN_OR_RETURN(
      training.noise_multiplier,
      accounting::NoiseForSteps(share, {input.epsilon, input.delta}, training.steps));
  const auto release = accounting::DpSgdRelease(share, training.noise_multiplier);
  SUBMIX_ASSIGN_OR_RETURN(const auto user,
                          accounting::EpsilonOf({release.run, training.steps}, input.delta));
  training.user_epsilon = user.epsilon;
  return training;
}

// --- Both

// As it was measured: that share of epsilon to the training, and to the answers what the sum of
// both losses leaves (Theorem 15).
StatusOr<Contender> Both(const PlanInput& input, const BothExperience& known) {
  PlanInput of_training = input;
  of_training.epsilon = input.epsilon * known.dp_sgd.epsilon / known.epsilon;
  SUBMIX_ASSIGN_OR_RETURN(const Contender training, DpSgd(of_training, known.dp_sgd));
  const accounting::PublicCost below = {
      .mechanism = training.mechanism,
      .step = {training.sampling_probability, training.noise_multiplier},
      .steps = training.steps};
  SUBMIX_ASSIGN_OR_RETURN(Contender both,
                          Ensemble(std::string(known.mechanism), known.parts, input, below));
  both.passes = 1;
  both.sampling_probability = training.sampling_probability;
  both.noise_multiplier = training.noise_multiplier;
  both.steps = training.steps;
  both.rank = training.rank;
  both.recipe = MeasuredRecipe(known.dp_sgd.model, both.passes);
  both.dp_sgd_recipe = training.dp_sgd_recipe;
  both.training_epsilon = of_training.epsilon;
  both.expected_share = known.kept;
  return both;
}

// --- Those that keep a share

// Numbers of two digits, by their index: 0.1, 0.11, ..., 0.99, 1, 1.1, ...
double TwoDigits(int index) { return (10 + index % 90) * std::pow(10.0, index / 90) / 100; }
constexpr int kEpsilons = 3 * 90;    // below 100
constexpr int kFirstCount = 2 * 90;  // 10
constexpr int kCounts = 8 * 90;      // below 10 million

PlanInput With(Unknown unknown, int index, PlanInput input) {
  const double value = TwoDigits(index);
  if (unknown == Unknown::kEpsilon) input.epsilon = value;
  if (unknown == Unknown::kTokens) input.tokens = std::llround(value);
  if (unknown == Unknown::kUsers) input.users = std::round(value);
  return input;
}

// The least index in [first, end) from which on `holds` is true; end if it never is.
template <typename Holds>
int LeastIndex(int first, int end, const Holds& holds) {
  while (first < end) {
    const int middle = first + (end - first) / 2;
    if (holds(middle)) {
      end = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

bool Keeps(double share, const Contender& contender) {
  return contender.expected_share.value_or(-1) >= share;
}

// More users do not always keep more: with more text than was measured a part, other members count.
std::optional<Contender> FewestUsers(double share, Contender ensemble) {
  for (int index = kFirstCount; index < kCounts; ++index) {
    ensemble.input = With(Unknown::kUsers, index, ensemble.input);
    ExpectOfEnsemble(ensemble);
    if (HasTextFor(ensemble.parts, ensemble.input) && Keeps(share, ensemble)) return ensemble;
  }
  return std::nullopt;
}

// None: it never keeps the share.
std::optional<Contender> EnsembleThatKeeps(double share, Unknown unknown, const std::string& name,
                                           int parts, const PlanInput& input) {
  const auto at = [&](int index) { return Ensemble(name, parts, With(unknown, index, input)); };
  const auto keeps = [&](int index) {
    const auto ensemble = at(index);
    return ensemble.ok() && Keeps(share, *ensemble);
  };
  if (unknown == Unknown::kUsers) {
    const auto ensemble = Ensemble(name, parts, input);
    return ensemble.ok() ? FewestUsers(share, *ensemble) : std::nullopt;
  }
  if (!HasTextFor(parts, input)) return std::nullopt;
  if (unknown == Unknown::kEpsilon) {
    const int least = LeastIndex(0, kEpsilons, keeps);
    if (least == kEpsilons) return std::nullopt;
    return *at(least);
  }
  const int too_many = LeastIndex(kFirstCount, kCounts, std::not_fn(keeps));
  if (too_many == kFirstCount) return std::nullopt;
  return *at(too_many - 1);
}

// The least epsilon, the most tokens, the fewest users.
double Rank(const Contender& contender, Unknown unknown) {
  if (unknown == Unknown::kEpsilon) return contender.input.epsilon;
  if (unknown == Unknown::kUsers) return contender.input.users;
  return -static_cast<double>(contender.input.tokens);
}

// Of those whose share is unknown.
double UnrankedOrder(const Contender& contender) {
  constexpr double kFirst = -std::numeric_limits<double>::infinity();
  if (contender.expected_share) return kFirst;
  return contender.is_ensemble() ? -contender.reach() : kFirst;
}

}  // namespace

double Contender::reach() const {
  return clip.value_or(Reach(parts, order.value(), target_leakage));
}

std::string WhyNoEnsemble(const PlanInput& input) {
  if (HasTextFor(kParts[0], input)) return "";
  const auto least = [](double a_part) { return base::NumberText(kParts[0] * a_part); };
  return "ensembles are left out: they want " + base::NumberText(kLeastUsersAPart) + " users and " +
         base::NumberText(kLeastTokensAPart) + " tokens in each of at least " +
         std::to_string(kParts[0]) + " parts, " + least(kLeastUsersAPart) + " users with " +
         least(kLeastTokensAPart) + " tokens together";
}

double DeltaFor(double users) {
  double tenfold = 10;
  while (tenfold < 10 * users) tenfold *= 10;
  return 1 / tenfold;
}

StatusOr<std::vector<Contender>> Contenders(const PlanInput& input) {
  SUBMIX_RETURN_IF_ERROR(CheckInput(input));
  std::vector<Contender> contenders;
  Status refusal;
  const auto add = [&](StatusOr<Contender> contender) {
    if (contender.ok()) {
      contenders.push_back(*std::move(contender));
    } else if (refusal.ok()) {
      refusal = contender.status();
    }
  };
  for (const int parts : kParts) {
    if (!HasTextFor(parts, input)) continue;
    for (const char* name : kEnsembles) add(Ensemble(name, parts, input));
  }
  add(DpSgd(input,
            ExperienceWithDpSgd(input.model, input.users, input.tokens_a_user, input.epsilon)));
  if (const auto known = ExperienceWithBoth(input.model, input.users, input.tokens_a_user,
                                            input.epsilon, static_cast<double>(input.tokens))) {
    add(Both(input, *known));
  }
  if (contenders.empty()) return refusal;
  std::ranges::stable_sort(contenders, {}, [](const Contender& contender) {
    return std::pair(-contender.expected_share.value_or(-1), UnrankedOrder(contender));
  });
  return contenders;
}

StatusOr<std::vector<Contender>> ContendersThatKeep(double share, Unknown unknown,
                                                    const PlanInput& input) {
  SUBMIX_RETURN_IF_ERROR(CheckInput(With(unknown, kFirstCount, input)));
  if (!input.model) {
    return base::InvalidArgumentError(
        "nothing was measured with a public model of this shape, so what is kept is not known; "
        "give --users, --epsilon and --tokens to see all ways");
  }
  std::vector<Contender> contenders;
  for (const int parts : kParts) {
    for (const char* name : kEnsembles) {
      auto ensemble = EnsembleThatKeeps(share, unknown, name, parts, input);
      if (ensemble) contenders.push_back(*std::move(ensemble));
    }
  }
  if (contenders.empty()) {
    return base::InvalidArgumentError(
        "nothing that was measured keeps " + base::NumberText(share) +
        " here; wish for less (--kept), or for fewer tokens, a larger epsilon or more users, or "
        "give --users, --epsilon and --tokens to see all ways");
  }
  std::ranges::stable_sort(contenders, {}, [&](const Contender& contender) {
    return std::pair(Rank(contender, unknown), -*contender.expected_share);
  });
  return contenders;
}

}  // namespace submix::eval

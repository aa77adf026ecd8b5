#include "submix/eval/measuring/expected_share.h"

#include <algorithm>
#include <cmath>

#include "submix/base/check.h"

namespace submix::eval {
namespace {

constexpr MeasuredModel kSmall = MeasuredModel::kSmallGpt2;
constexpr MeasuredModel kSmolLm2 = MeasuredModel::kSmolLm2;

struct RecipeLaw {
  double open;          // with the most text a part
  double per_halving;   // less, for each time that a part has half of it
  double scale;         // nats
  int least_parts;      // measured
  int most_parts;       // measured
  double least_tokens;  // a part, measured
  double most_tokens;   // a part, measured
};

struct ShareLaw {
  std::string_view mechanism;
  double tokens_a_user;
  int passes;
  RecipeLaw recipe;
  MeasuredModel model = kSmall;
};

constexpr ShareLaw kLaws[] = {
    {"dclip", 2400, 1, {0.73, 0, 0.53, 16, 128, 33'750, 540'000}},
    {"dclip", 2400, 3, {0.92, 0.07, 0.67, 64, 256, 16'875, 135'000}},
    {"dclip", 400, 1, {0.605, 0, 0.65, 64, 64, 22'500, 22'500}},
    {"filtered-submix", 2400, 1, {0.69, 0, 0.58, 16, 128, 33'750, 540'000}},
    {"filtered-submix", 2400, 3, {0.86, 0.05, 0.68, 64, 128, 16'875, 135'000}},
    {"filtered-submix", 400, 1, {0.445, 0, 0.34, 64, 64, 22'500, 22'500}},
    {"dclip", 438, 3, {0.73, 0, 1.06, 64, 64, 4500, 4970}, kSmolLm2},
    {"dclip", 411, 1, {0.61, 0, 0.48, 128, 128, 11'000, 11'572}, kSmolLm2},
    {"filtered-submix", 438, 3, {0.39, 0, 0.41, 64, 64, 4500, 4970}, kSmolLm2},
    {"filtered-submix", 411, 1, {0.42, 0, 0.25, 128, 128, 11'000, 11'572}, kSmolLm2},
};

// "Like what was measured": up to twice, down to half of it.
constexpr double kLikeness = 2;

constexpr std::string_view kDpSgdOverSmolLm2 = " --learning-rate 0.006 --top-layers 10";
// docs/results/private_training.csv, docs/results/real and docs/results/which. Of 2,400 tokens the
// last read the first 1,500 characters of each user.
constexpr DpSgdExperience kDpSgd[] = {
    {kSmall, 900, 2400, 7.69, 1, 1.0 / 8, 16, 0.21},
    {kSmall, 3600, 2400, 8, 2, 1.0 / 4, 4, 0.32},
    {kSmall, 3600, 2400, 3, 2, 1.0 / 4, 4, 0.245},
    {kSmall, 3600, 400, 8, 2, 1.0 / 4, 16, 0.34},
    {kSmall, 3600, 400, 3, 2, 1.0 / 4, 16, 0.303},
    {kSmolLm2, 726, 438, 8, 2, 1.0 / 8, 16, 0.515, kDpSgdOverSmolLm2},
    {kSmolLm2, 726, 438, 3, 2, 1.0 / 8, 16, 0.446, kDpSgdOverSmolLm2},
    {kSmolLm2, 3600, 411, 8, 2, 1.0 / 8, 16, 0.527, kDpSgdOverSmolLm2},
};
// docs/results/which and docs/results/real. The training alone has half of each.
constexpr DpSgdExperience kBelow = {kSmall, 3600, 400, 4, 2, 1.0 / 4, 16, 0.28};
constexpr DpSgdExperience kBelowOverSmolLm2 = {kSmolLm2,         726, 438, 4, 2, 1.0 / 8, 16, 0.452,
                                               kDpSgdOverSmolLm2};
constexpr BothExperience kBoth[] = {
    {8, kBelow, "dclip", 64, 256, 0.58},
    {8, kBelow, "dclip", 64, 1024, 0.55},
    {8, kBelow, "filtered-submix", 64, 10'240, 0.445},
    {8, kBelowOverSmolLm2, "dclip", 64, 256, 0.721},
    {8, kBelowOverSmolLm2, "dclip", 64, 1024, 0.673},
    {8, kBelowOverSmolLm2, "filtered-submix", 64, 10'240, 0.59},
};
// Users are estimates, and epsilons what a whole number of steps cost.
constexpr double kSlack = 0.95;

bool IsLike(double value, double measured) {
  return value >= measured / kLikeness && value <= measured * kLikeness;
}

bool IsNoWorse(double value, double measured) {
  return value >= kSlack * measured && value <= kLikeness * measured;
}

bool AreLikeUsersOf(const DpSgdExperience& measured, double users, double tokens_a_user) {
  return IsNoWorse(users, measured.users) && IsLike(tokens_a_user, measured.tokens_a_user);
}

void CheckIsFitted(std::string_view mechanism) {
  SUBMIX_CHECK(std::ranges::find(kLaws, mechanism, &ShareLaw::mechanism) != std::end(kLaws),
               "nothing was fitted to this mechanism");
}

}  // namespace

std::string_view MeasuredRecipe(std::optional<MeasuredModel> model, int passes) {
  if (model != kSmolLm2) return "";
  return passes == 1 ? " --learning-rate 0.002 --top-layers 10"
                     : " --epochs 3 --learning-rate 0.001 --top-layers 10";
}

ShareError ErrorOfExpectedShare(MeasuredModel model, std::string_view mechanism) {
  CheckIsFitted(mechanism);
  const bool is_dclip = mechanism == "dclip";
  if (model == kSmolLm2) {
    return is_dclip ? ShareError{0.03, 0.0115, 0.14} : ShareError{0.09, 0.0355, 0.14};
  }
  return is_dclip ? ShareError{0.06, 0.015, 0.1} : ShareError{0.09, 0.025, 0.15};
}

double Reach(int parts, double order, double target_leakage) {
  return parts * std::sqrt(2 * target_leakage / order);
}

std::optional<double> ExpectedShare(std::string_view mechanism, const MemberText& text,
                                    double reach) {
  CheckIsFitted(mechanism);
  const auto* const known = std::ranges::find_if(kLaws, [&](const ShareLaw& law) {
    return law.model == text.model && law.mechanism == mechanism && law.passes == text.passes &&
           IsLike(text.tokens_a_user, law.tokens_a_user);
  });
  if (known == std::end(kLaws)) return std::nullopt;
  const RecipeLaw& law = known->recipe;
  const bool is_measured = text.parts >= law.least_parts && text.parts <= law.most_parts &&
                           text.tokens_a_part >= law.least_tokens &&
                           text.tokens_a_part <= kLikeness * law.most_tokens;
  if (!is_measured) return std::nullopt;
  const double halvings =
      std::log2(law.most_tokens / std::min(text.tokens_a_part, law.most_tokens));
  return (law.open - law.per_halving * halvings) * -std::expm1(-reach / law.scale);
}

std::optional<DpSgdExperience> ExperienceWithDpSgd(std::optional<MeasuredModel> model, double users,
                                                   double tokens_a_user, double epsilon) {
  std::optional<DpSgdExperience> best;
  for (const DpSgdExperience& one : kDpSgd) {
    const bool is_like = one.model == model && AreLikeUsersOf(one, users, tokens_a_user) &&
                         IsNoWorse(epsilon, one.epsilon);
    if (is_like && (!best || one.kept > best->kept)) best = one;
  }
  return best;
}

std::optional<BothExperience> ExperienceWithBoth(std::optional<MeasuredModel> model, double users,
                                                 double tokens_a_user, double epsilon,
                                                 double tokens) {
  std::optional<BothExperience> best;
  for (const BothExperience& one : kBoth) {
    const bool is_like = one.dp_sgd.model == model &&
                         AreLikeUsersOf(one.dp_sgd, users, tokens_a_user) &&
                         IsNoWorse(epsilon, one.epsilon) && tokens <= one.tokens / kSlack;
    if (is_like && (!best || one.kept > best->kept)) best = one;
  }
  return best;
}

}  // namespace submix::eval

#include "submix/mechanism/mapped_predictions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::mechanism {
namespace mapped_predictions_test {

using base::StatusCode;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Logits of a pmf: natural logarithms, so that softmax gives the pmf back.
std::vector<float> Logits(const std::vector<double>& pmf) {
  std::vector<float> logits;
  for (const double p : pmf) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

void ExpectPmf(std::span<const double> actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t x = 0; x < expected.size(); ++x) EXPECT_NEAR(actual[x], expected[x], 1e-7);
}

std::vector<base::TokenId> Support(const MappedPredictions& mapped) {
  std::vector<base::TokenId> support;
  for (std::size_t x = 0; x < mapped.view().support_size(); ++x) support.push_back(mapped.token(x));
  return support;
}

const std::vector<double> kPublic{.1, .4, .3, .2};

TEST(MappedPredictionsTest, KeepsEveryTokenInOrderByDefault) {
  MappedPredictions mapped;
  const std::vector<double> member{.25, .25, .4, .1};
  SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), Logits(member), 1, {}));
  EXPECT_EQ(mapped.view().num_parts, 1);
  EXPECT_EQ(Support(mapped), (std::vector<base::TokenId>{0, 1, 2, 3}));
  ExpectPmf(mapped.view().public_pmf, kPublic);
  ExpectPmf(mapped.view().member(0, 0), member);
  EXPECT_NEAR(std::accumulate(mapped.view().public_pmf.begin(), mapped.view().public_pmf.end(), 0.),
              1, 1e-15);
}

TEST(MappedPredictionsTest, AppliesTemperatureToMembersAndPublicModelAlike) {
  MappedPredictions mapped;
  SUBMIX_ASSERT_OK(mapped.Map(Logits({.75, .25}), Logits({.6, .4}), 1, {.temperature = .5}));
  ExpectPmf(mapped.view().public_pmf, {.9, .1});
  ExpectPmf(mapped.view().member(0, 0), {.36 / .52, .16 / .52});
}

TEST(MappedPredictionsTest, ChoosesTheSupportFromThePublicModelOnly) {
  MappedPredictions mapped;
  const std::vector<double> member{.7, .1, .1, .1};
  SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), Logits(member), 1, {.top_k = 2}));
  EXPECT_EQ(Support(mapped), (std::vector<base::TokenId>{1, 2}));
  ExpectPmf(mapped.view().public_pmf, {.4 / .7, .3 / .7});
  ExpectPmf(mapped.view().member(0, 0), {.5, .5});
  EXPECT_EQ(mapped.IndexOf(0), -1);
  EXPECT_EQ(mapped.IndexOf(1), 0);
  EXPECT_EQ(mapped.IndexOf(2), 1);
  EXPECT_EQ(mapped.IndexOf(3), -1);
  EXPECT_EQ(mapped.IndexOf(99), -1);
}

TEST(MappedPredictionsTest, KeepsTheSmallestSetWithTheMassOfTopP) {
  MappedPredictions mapped;
  const auto support = [&](SamplingOptions options) {
    EXPECT_TRUE(mapped.Map(Logits(kPublic), Logits(kPublic), 1, options).ok());
    return Support(mapped);
  };
  EXPECT_EQ(support({.top_p = .01}), (std::vector<base::TokenId>{1}));
  EXPECT_EQ(support({.top_p = .69}), (std::vector<base::TokenId>{1, 2}));
  EXPECT_EQ(support({.top_p = .71}), (std::vector<base::TokenId>{1, 2, 3}));
  EXPECT_EQ(support({.top_p = 1}), (std::vector<base::TokenId>{0, 1, 2, 3}));
  // After top-k {1, 2} token 1 has 4/7 of the mass: as in Hugging Face's order of the two.
  EXPECT_EQ(support({.top_p = .56, .top_k = 2}), (std::vector<base::TokenId>{1}));
  EXPECT_EQ(support({.top_p = .58, .top_k = 2}), (std::vector<base::TokenId>{1, 2}));
  // Temperature comes first: at 0.25 token 1 has 256/354 of the mass.
  EXPECT_EQ(support({.temperature = .25, .top_p = .72}), (std::vector<base::TokenId>{1}));
}

TEST(MappedPredictionsTest, BreaksTiesByTokenId) {
  MappedPredictions mapped;
  const std::vector<float> flat(1000, 0.5f);
  SUBMIX_ASSERT_OK(mapped.Map(flat, flat, 1, {.top_k = 3}));
  EXPECT_EQ(Support(mapped), (std::vector<base::TokenId>{0, 1, 2}));
  SUBMIX_ASSERT_OK(mapped.Map(flat, flat, 1, {.top_p = .4995}));
  EXPECT_EQ(mapped.view().support_size(), 500u);
  EXPECT_EQ(mapped.token(499), 499);
}

// Against a sort, for sizes around those of the blocks that top-k looks at, with many ties and
// none.
TEST(MappedPredictionsTest, KeepsTheLikeliestOfAnyNumberOfTokens) {
  std::mt19937 random(1);
  MappedPredictions mapped;
  for (const std::size_t vocabulary : {2u, 7u, 64u, 1023u, 1024u, 1025u, 20'011u}) {
    for (const int distinct : {3, 1 << 20}) {
      std::uniform_int_distribution<int> level(0, distinct);
      std::vector<float> logits(vocabulary);
      for (float& logit : logits) logit = static_cast<float>(level(random)) * 1e-5f;
      std::vector<base::TokenId> ranking(vocabulary);
      std::iota(ranking.begin(), ranking.end(), 0);
      std::ranges::stable_sort(ranking, std::ranges::greater(), [&](base::TokenId token) {
        return logits[static_cast<std::size_t>(token)];
      });
      for (const std::size_t kept : {1u, 2u, 6u, 100u, 256u, 1000u}) {
        if (kept >= vocabulary) continue;
        SUBMIX_ASSERT_OK(mapped.Map(logits, logits, 1, {.top_k = static_cast<int>(kept)}));
        std::vector<base::TokenId> expected(ranking.begin(),
                                            ranking.begin() + static_cast<std::ptrdiff_t>(kept));
        std::ranges::sort(expected);
        EXPECT_EQ(Support(mapped), expected) << vocabulary << ", " << distinct << ", " << kept;
      }
    }
  }
}

// Against a sort and a running sum.
TEST(MappedPredictionsTest, KeepsTheSmallestMassOfAnyNumberOfTokens) {
  std::mt19937 random(1);
  MappedPredictions mapped;
  for (const std::size_t vocabulary : {1u, 2u, 1000u, 20'011u}) {
    for (const double spread : {0.1, 2.5, 10.}) {
      std::normal_distribution<double> normal(0, spread);
      std::vector<float> logits(vocabulary);
      for (float& logit : logits) logit = static_cast<float>(normal(random));
      SUBMIX_ASSERT_OK(mapped.Map(logits, logits, 1, {}));
      const std::vector<double> pmf(mapped.view().public_pmf.begin(),
                                    mapped.view().public_pmf.end());
      std::vector<std::size_t> ranking(vocabulary);
      std::iota(ranking.begin(), ranking.end(), 0u);
      std::ranges::sort(ranking, std::ranges::greater(), [&](std::size_t x) { return pmf[x]; });
      for (const double top_p : {1e-9, .3, .9, .9999, 1 - 1e-15}) {
        SUBMIX_ASSERT_OK(mapped.Map(logits, logits, 1, {.top_p = top_p}));
        std::size_t kept = 0;
        for (double mass = 0; kept < vocabulary && mass < top_p;) mass += pmf[ranking[kept++]];
        const std::size_t found = mapped.view().support_size();
        // Sums in another order round differently.
        if (top_p < .99999) {
          EXPECT_EQ(found, kept) << vocabulary << ", " << spread;
        }
        double mass = 0;
        for (const base::TokenId token : Support(mapped))
          mass += pmf[static_cast<std::size_t>(token)];
        EXPECT_GE(mass, std::min(top_p, 1.) - 1e-14);
        const auto end = ranking.begin() + static_cast<std::ptrdiff_t>(found);
        for (auto x = ranking.begin(); x != end; ++x) {
          EXPECT_GE(mapped.IndexOf(static_cast<base::TokenId>(*x)), 0);
        }
      }
    }
  }
}

TEST(MappedPredictionsTest, MakesAPartNullIfOneOfItsMembersIsNotFinite) {
  for (const SamplingOptions& options : {SamplingOptions{}, SamplingOptions{.top_k = 2}}) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      for (const std::size_t broken_half : {0, 1}) {
        std::vector<float> members;
        for (int row = 0; row < 6; ++row) {
          for (const float logit : Logits({.25, .25, .4, .1})) members.push_back(logit);
        }
        members[(2 + broken_half) * 4 + 1] = bad;  // of part 1, a token that top-k keeps
        MappedPredictions mapped;
        SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), members, 2, options));
        const PartPredictions view = mapped.view();
        ASSERT_EQ(view.num_parts, 3);
        for (const int part : {0, 1, 2}) {
          for (const int half : {0, 1}) {
            EXPECT_EQ(std::ranges::equal(view.public_pmf, view.member(part, half)), part == 1)
                << part << ' ' << half << ", half " << broken_half << " is broken";
          }
        }
      }
    }
  }
}

TEST(MappedPredictionsTest, ReadsNothingOfAMemberOutsideTheSupport) {
  MappedPredictions mapped;
  for (const float outside : {kNan, kInfinity, -kInfinity, 2000.f, -2000.f}) {
    const std::vector<float> member{outside, 0, 1, 2};
    SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), member, 1, {.top_k = 3}));
    const double mass = 1 + std::exp(1) + std::exp(2);
    ExpectPmf(mapped.view().member(0, 0), {1 / mass, std::exp(1) / mass, std::exp(2) / mass});
  }
}

TEST(MappedPredictionsTest, KeepsThePublicModelPositive) {
  MappedPredictions mapped;
  SUBMIX_ASSERT_OK(mapped.Map(std::vector<float>{0, -3000}, std::vector<float>{0, 0}, 1, {}));
  EXPECT_GT(mapped.view().public_pmf[1], 0);
}

TEST(MappedPredictionsTest, RefusesAPublicModelThatIsNotFinite) {
  MappedPredictions mapped;
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_THAT(mapped.Map(std::vector<float>{0, bad}, std::vector<float>{0, 0}, 1, {}),
                base::StatusIs(StatusCode::kInternal, HasSubstr("public")));
    EXPECT_FALSE(mapped.has_public_law());
    // Another error is not this one, whatever came before.
    EXPECT_FALSE(mapped.Map(std::vector<float>{0, bad}, std::vector<float>{0}, 1, {}).ok());
    EXPECT_TRUE(mapped.has_public_law());
  }
}

TEST(MappedPredictionsTest, RefusesSizesThatDoNotFit) {
  MappedPredictions mapped;
  const std::vector<float> two{0, 0};
  const std::vector<float> three{0, 0, 0};
  EXPECT_THAT(mapped.Map(two, three, 1, {}),
              base::StatusIs(StatusCode::kInvalidArgument, HasSubstr("3")));
  EXPECT_THAT(mapped.Map(two, two, 2, {}),
              base::StatusIs(StatusCode::kInvalidArgument, HasSubstr("2")));
  EXPECT_THAT(mapped.Map({}, {}, 1, {}),
              base::StatusIs(StatusCode::kInvalidArgument, HasSubstr("0")));
}

TEST(MappedPredictionsTest, CanBeReused) {
  MappedPredictions mapped;
  SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), Logits(kPublic), 1, {.top_k = 2}));
  SUBMIX_ASSERT_OK(mapped.Map(Logits(kPublic), Logits(kPublic), 1, {}));
  ExpectPmf(mapped.view().public_pmf, kPublic);
  ExpectPmf(mapped.view().member(0, 0), kPublic);
}

TEST(CheckSamplingOptionsTest, NamesTheOptionThatIsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [](SamplingOptions options, const char* name) {
    EXPECT_THAT(CheckSamplingOptions(options, 1),
                base::StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
  };
  SUBMIX_EXPECT_OK(CheckSamplingOptions({}, 1));
  SUBMIX_EXPECT_OK(CheckSamplingOptions({}, double{kInfinity}));
  SUBMIX_EXPECT_OK(CheckSamplingOptions({.top_k_plus = 3}, 1));
  for (const double bad : {0.0, -1.0, nan, double{kInfinity}}) {
    refused({.temperature = bad}, "temperature");
  }
  for (const double bad : {0.0, -.5, 1.5, nan}) refused({.top_p = bad}, "top_p");
  refused({.top_k = -1}, "top_k");
}

}  // namespace mapped_predictions_test
}  // namespace submix::mechanism

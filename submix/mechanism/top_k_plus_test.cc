// top_k_plus by enumeration: whatever the members say, no token outside the support that it keeps
// is among the k likeliest of the mixture over all tokens, and some member set brings nearly every
// token inside there.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/dclip.h"
#include "submix/mechanism/filtered_dclip.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/testing/random_clip.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {
namespace top_k_plus_test {

constexpr std::size_t kTokens = 5;
constexpr int kParts = 2;
// What a member says of a token beside the public model, in nats of logit: beyond every window.
constexpr float kSays[] = {-40, 0, 40};

using Tokens = std::set<base::TokenId>;

Tokens Kept(const std::vector<float>& logits, const SamplingOptions& options, double range) {
  MappedPredictions mapped;
  SUBMIX_EXPECT_OK(mapped.Map(logits, {}, 1, options, range));
  Tokens kept;
  for (std::size_t x = 0; x < mapped.view().support_size(); ++x) kept.insert(mapped.token(x));
  return kept;
}

// Those that fewer than k others are more likely than.
Tokens Likeliest(const Pmf& law, int k) {
  Tokens likeliest;
  for (std::size_t y = 0; y < law.size(); ++y) {
    const auto likelier = std::ranges::count_if(law, [&](double p) { return p > law[y]; });
    if (likelier < k) likeliest.insert(static_cast<base::TokenId>(y));
  }
  return likeliest;
}

// Calls visit(law) with the mixture over all tokens for every way in which the members may differ
// from the public model by kSays; the second part does as the first, or nothing.
template <typename Visit>
void ForEveryMemberSet(const Mechanism& mechanism, const std::vector<float>& public_logits,
                       double temperature, const Visit& visit) {
  NoRandomness no_randomness;
  MappedPredictions mapped;
  std::size_t sets = 1;
  for (std::size_t x = 0; x < kTokens; ++x) sets *= std::size(kSays);
  for (std::size_t set = 0; set < sets; ++set) {
    for (const float second : {0.0f, 1.0f}) {
      std::vector<float> members;
      for (const float scale : {1.0f, second}) {
        std::size_t digits = set;
        for (std::size_t x = 0; x < kTokens; ++x, digits /= std::size(kSays)) {
          members.push_back(public_logits[x] + scale * kSays[digits % std::size(kSays)]);
        }
      }
      SUBMIX_ASSERT_OK(mapped.Map(public_logits, members, 1, {.temperature = temperature}));
      const std::vector<accounting::FixedNats> remaining(kParts,
                                                         accounting::FixedNats::RoundDown(1000));
      SUBMIX_ASSERT_OK_AND_ASSIGN(auto proposal, mechanism.Propose(mapped.view(), remaining, {}));
      const PrivateMixture mixture = std::move(*proposal).Mix({true, true}, no_randomness);
      visit(LawOf(mixture, kTokens));
    }
  }
}

template <typename Made>
std::unique_ptr<Mechanism> Make(const ClipOptions& clip, double target_leakage) {
  MechanismOptions options;
  options.clip = clip;
  options.num_parts = kParts;
  options.order = *divergence::RenyiOrder::Create(2);
  options.target_leakage = target_leakage;
  return *Made::Create(options);
}

TEST(TopKPlusTest, NoMemberSetBringsATokenFromOutsideAmongTheLikeliest) {
  const auto random = base::MakeSeededRandomSource(7);
  int left_out = 0, inside = 0, brought = 0;
  for (int round = 0; round < 12; ++round) {
    const double leakage = round % 3 == 0 ? 0.5 : 0.05;
    const ClipOptions clip = RandomClip(*random);
    const auto mechanism =
        round % 2 == 0 ? Make<DClip>(clip, leakage) : Make<FilteredDClip>(clip, leakage);
    ASSERT_TRUE(std::isfinite(mechanism->log_ratio_range()));
    const double temperature = round % 4 == 0 ? 0.5 : 1.25;
    std::vector<float> logits;
    for (std::size_t x = 0; x < kTokens; ++x) {
      logits.push_back(static_cast<float>(3 * NextUnit(*random)));
    }
    for (int k = 1; k < static_cast<int>(kTokens); ++k) {
      const Tokens kept =
          Kept(logits, {.temperature = temperature, .top_k_plus = k}, mechanism->log_ratio_range());
      const Tokens plain = Kept(logits, {.temperature = temperature, .top_k = k}, 0);
      EXPECT_TRUE(std::ranges::includes(kept, plain));
      Tokens reached;
      ForEveryMemberSet(*mechanism, logits, temperature, [&](const Pmf& law) {
        for (const base::TokenId token : Likeliest(law, k)) {
          EXPECT_TRUE(kept.contains(token)) << token << " at k = " << k;
          reached.insert(token);
        }
      });
      left_out += static_cast<int>(kTokens - kept.size());
      inside += static_cast<int>(kept.size());
      brought += static_cast<int>(reached.size());
    }
  }
  EXPECT_GT(left_out, 20);         // not all tokens
  EXPECT_GT(brought, inside / 2);  // and not many more than can be reached
}

TEST(TopKPlusTest, KeepsWhatIsWithinTheRangeOfTheKthLikeliest) {
  const std::vector<float> logits = {0, 3, 1, 2.5, -4};
  EXPECT_EQ(Kept(logits, {.top_k_plus = 1}, 0.25), (Tokens{1}));
  EXPECT_EQ(Kept(logits, {.top_k_plus = 1}, 0.5), (Tokens{1, 3}));
  EXPECT_EQ(Kept(logits, {.top_k_plus = 2}, 1.5), (Tokens{1, 2, 3}));
  EXPECT_EQ(Kept(logits, {.temperature = 2, .top_k_plus = 1}, 0.25), (Tokens{1, 3}));
  EXPECT_EQ(Kept(logits, {.top_k_plus = 5}, 0), (Tokens{0, 1, 2, 3, 4}));
  EXPECT_EQ(Kept(logits, {.top_k_plus = 99}, 0), (Tokens{0, 1, 2, 3, 4}));
  // Then top-p, on what is kept.
  EXPECT_EQ(Kept(logits, {.top_p = 0.5, .top_k_plus = 1}, 0.5), (Tokens{1}));
}

TEST(TopKPlusTest, IsRefusedWhereNothingBoundsTheMembers) {
  MappedPredictions mapped;
  const std::vector<float> logits = {0, 1};
  const auto is_refused = [](const char* why) {
    return base::StatusIs(base::StatusCode::kInvalidArgument, ::testing::HasSubstr(why));
  };
  EXPECT_THAT(mapped.Map(logits, {}, 1, {.top_k_plus = 1}), is_refused("only dclip"));
  EXPECT_THAT(mapped.Map(logits, {}, 1, {.top_k_plus = -1}, 1), is_refused("top_k_plus"));
  EXPECT_THAT(mapped.Map(logits, {}, 1, {.top_k = 1, .top_k_plus = 1}, 1),
              is_refused("no top_k beside it"));
}

}  // namespace top_k_plus_test
}  // namespace submix::mechanism

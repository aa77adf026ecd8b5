#include "submix/engine/prefix_cache.h"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>

#include "submix/ensemble/testing/fake_predictor.h"

namespace submix::engine {
namespace prefix_cache_test {

using base::TokenId;
using std::chrono::minutes;

// Shares whole runs of four tokens.
class PrefixCacheTest : public testing::Test {
 protected:
  // As an engine does: opens, appends the rest, keeps. Returns how many tokens were there already.
  int Ask(const std::string& key, const std::vector<TokenId>& prompt) {
    const PrefixCache::Opened opened = cache_->Open(key, prompt, now_);
    const auto& held = predictor_.tokens(opened.sequence);
    EXPECT_EQ(held, std::vector(prompt.begin(), prompt.begin() + opened.tokens));
    const std::vector<ensemble::Predictor::Append> appends = {
        {opened.sequence, std::span(prompt).subspan(held.size()), /*predicts=*/false}};
    EXPECT_TRUE(predictor_.Step(appends, {}).ok());
    cache_->Keep(key, prompt, opened.sequence, now_);
    predictor_.Close(opened.sequence);
    return opened.tokens;
  }
  void KeepAtMost(int tokens_per_key) {
    cache_.reset();
    cache_ = std::make_unique<PrefixCache>(predictor_, tokens_per_key);
  }
  static std::vector<TokenId> Prompt(int count, TokenId token, TokenId last = 0) {
    std::vector<TokenId> prompt(static_cast<std::size_t>(count), token);
    prompt.back() = last;
    return prompt;
  }

  ensemble::FakePredictor predictor_{1, 8, 0};
  std::unique_ptr<PrefixCache> cache_ = std::make_unique<PrefixCache>(predictor_, 32);
  PrefixCache::Time now_{};
};

TEST_F(PrefixCacheTest, TheLongestCommonBeginningIsThereAlready) {
  EXPECT_EQ(Ask("key", {1, 2, 3, 4, 5, 6, 7, 1, 1}), 0);
  EXPECT_EQ(Ask("key", {1, 2, 3, 4, 5, 6, 7, 1, 2, 2}), 8);
  EXPECT_EQ(Ask("key", {1, 2, 3, 4, 5, 6, 7, 7, 7}), 4);
  EXPECT_EQ(Ask("key", {1, 2, 3, 3, 5, 6, 7, 7, 7}), 0);
}

TEST_F(PrefixCacheTest, TheLastTokenAlwaysEnters) {
  const std::vector<TokenId> prompt = {1, 2, 3, 4, 5, 6, 7, 1};
  EXPECT_EQ(Ask("key", prompt), 0);
  EXPECT_EQ(Ask("key", prompt), 4);
  EXPECT_EQ(Ask("key", {1}), 0);
}

TEST_F(PrefixCacheTest, NeverAnotherKeys) {
  EXPECT_EQ(Ask("one", Prompt(9, 1)), 0);
  EXPECT_EQ(Ask("other", Prompt(9, 1)), 0);
  EXPECT_EQ(Ask("", Prompt(9, 1)), 0);
  EXPECT_EQ(Ask("", Prompt(9, 1)), 0) << "clients without keys may be anybody";
  EXPECT_EQ(Ask("one", Prompt(9, 1)), 8);
}

TEST_F(PrefixCacheTest, WhatWasNotUsedForLongestMakesRoomAndOfItsOwnKeyAlone) {
  KeepAtMost(16);
  Ask("other", Prompt(9, 5));
  Ask("key", Prompt(9, 1));
  Ask("key", Prompt(9, 2));
  EXPECT_EQ(Ask("key", Prompt(9, 1)), 8);
  Ask("key", Prompt(9, 3));
  EXPECT_EQ(predictor_.open_sequences(), 3u);
  EXPECT_EQ(Ask("key", Prompt(9, 1)), 8);
  EXPECT_EQ(Ask("key", Prompt(9, 2)), 0);
  EXPECT_EQ(Ask("other", Prompt(9, 5)), 8);
}

TEST_F(PrefixCacheTest, ALongerPromptTakesThePlaceOfItsBeginning) {
  KeepAtMost(16);
  Ask("key", Prompt(9, 1, 1));
  Ask("key", Prompt(13, 1, 1));
  EXPECT_EQ(predictor_.open_sequences(), 1u);
  Ask("key", Prompt(9, 1, 1));
  EXPECT_EQ(predictor_.open_sequences(), 1u) << "it is kept as the beginning of the longer one";
  EXPECT_EQ(Ask("key", Prompt(40, 1)), 12);
  EXPECT_EQ(Ask("key", Prompt(40, 1)), 16) << "no more of a prompt than fits";
}

TEST_F(PrefixCacheTest, WhatIsIdleForLongIsDroppedWhoeverAsksNext) {
  Ask("gone", Prompt(9, 1));
  now_ += PrefixCache::kLongestIdle;
  Ask("key", Prompt(9, 1));
  EXPECT_EQ(predictor_.open_sequences(), 2u);
  now_ += minutes(1);
  Ask("key", Prompt(9, 1));
  EXPECT_EQ(predictor_.open_sequences(), 1u);
  EXPECT_EQ(Ask("gone", Prompt(9, 1)), 0);
}

TEST_F(PrefixCacheTest, WhatIsIdleForLongIsGoneWhetherOthersHaveAskedOrNot) {
  for (const bool others_ask : {false, true}) {
    Ask("key", Prompt(9, 1));
    now_ += PrefixCache::kLongestIdle + minutes(1);
    if (others_ask) Ask("other", Prompt(9, 1));
    EXPECT_EQ(Ask("key", Prompt(9, 1)), 0) << others_ask;
    now_ += PrefixCache::kLongestIdle + minutes(1);
  }
}

TEST_F(PrefixCacheTest, NothingIsKeptWhereNothingMayBeAndNothingIsLeftOpen) {
  KeepAtMost(0);
  Ask("key", Prompt(9, 1));
  EXPECT_EQ(Ask("key", Prompt(9, 1)), 0);
  EXPECT_EQ(predictor_.open_sequences(), 0u);
  KeepAtMost(3);
  Ask("key", Prompt(9, 1));
  EXPECT_EQ(predictor_.open_sequences(), 0u);
  KeepAtMost(16);
  Ask("key", Prompt(9, 1));
  cache_.reset();
  EXPECT_EQ(predictor_.open_sequences(), 0u);
}

}  // namespace prefix_cache_test
}  // namespace submix::engine

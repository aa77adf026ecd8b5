#include "submix/tokenizer/normalizer.h"

#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace normalizer_test {

TEST(NormalizerTest, AppliesItsStepsInTurn) {
  const Normalizer normalizer({Normalizer::Prepend{"_"}, Normalizer::Replace{" ", "_"}});
  EXPECT_EQ(normalizer.Apply("a b\xff ", true), "_a_b\xff_");
  EXPECT_EQ(normalizer.Apply("", true), "");
  EXPECT_TRUE(Normalizer().is_identity());
  EXPECT_FALSE(normalizer.is_identity());
}

TEST(NormalizerTest, PrependsWhereItShould) {
  const Normalizer first({Normalizer::Prepend{"_", true, false}});
  EXPECT_EQ(first.Apply("_a", true), "__a");
  EXPECT_EQ(first.Apply("a", false), "a");
  const Normalizer unless({Normalizer::Prepend{"_", false, true}});
  EXPECT_EQ(unless.Apply("_a", true), "_a");
  EXPECT_EQ(unless.Apply("a", false), "_a");
}

TEST(NormalizerTest, SaysHowMuchShorterATextMayGet) {
  EXPECT_EQ(Normalizer().most_bytes_of_one(), 1u);
  EXPECT_EQ(
      Normalizer({Normalizer::Prepend{"_"}, Normalizer::Replace{" ", "___"}}).most_bytes_of_one(),
      1u);
  EXPECT_EQ(Normalizer({Normalizer::Replace{"abcde", "xy"}}).most_bytes_of_one(), 3u);
  EXPECT_EQ(Normalizer({Normalizer::Replace{"a", ""}}).most_bytes_of_one(), Normalizer::kUnlimited);
  // The text that loses the most.
  const std::string text = "\u1fbe\u0308\u0301";
  const Normalizer compose({Normalizer::Compose{}});
  const std::size_t size = compose.Apply(text, true).size();
  EXPECT_EQ(size, 2u);
  EXPECT_EQ((text.size() + size - 1) / size, compose.most_bytes_of_one());
}

TEST(NormalizerTest, SaysHowMuchLongerATextMayGet) {
  EXPECT_EQ(Normalizer::GrowthOf({}), 1);
  const std::vector<Normalizer::Step> llama = {Normalizer::Prepend{"\u2581"},
                                               Normalizer::Replace{" ", "\u2581"}};
  EXPECT_EQ(Normalizer::GrowthOf(llama), 12);
  EXPECT_EQ(Normalizer::GrowthOf({Normalizer::Replace{"ab", "a"}}), 1);
  const std::vector<Normalizer::Step> hostile(40, Normalizer::Replace{"a", "aa"});
  EXPECT_GT(Normalizer::GrowthOf(hostile), Normalizer::kMostGrowth);
  const std::string longest = "\U0001d160";
  EXPECT_LE(static_cast<double>(Normalizer({Normalizer::Compose{}}).Apply(longest, true).size()),
            3.0 * static_cast<double>(longest.size()));
}

TEST(NormalizerTest, ReplacesFromTheLeft) {
  EXPECT_EQ(ReplaceAll("aaa", "aa", "b"), "ba");
  EXPECT_EQ(ReplaceAll("", "a", "b"), "");
  EXPECT_EQ(ReplaceAll("xax", "a", ""), "xx");
}

}  // namespace normalizer_test
}  // namespace submix::tokenizer

#include "submix/mechanism/random_stopping.h"

#include <array>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"

namespace submix::mechanism {
namespace {

TEST(RandomStoppingTest, GivesExactlyTheDrawnNumberOfAnswers) {
  const auto random = base::MakeSeededRandomSource(1);
  RandomStopping stopping = RandomStopping::Draw(*random, 100);
  const std::uint64_t drawn = stopping.answers_left();
  std::uint64_t given = 0;
  while (stopping.ShouldAnswer()) ++given;
  EXPECT_EQ(given, drawn);
  EXPECT_GE(drawn, 1u);
  EXPECT_LE(drawn, 100u);
  EXPECT_FALSE(stopping.ShouldAnswer());
}

TEST(RandomStoppingTest, IsUniform) {
  const auto random = base::MakeSeededRandomSource(2);
  std::array<int, 5> counts{};
  for (int i = 0; i < 50000; ++i) ++counts[RandomStopping::Draw(*random, 5).answers_left() - 1];
  double chi_square = 0;
  for (const int count : counts) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  // 4 degrees of freedom: P(chi^2 > 23.5) = 1e-4, and the seed is fixed.
  EXPECT_LT(chi_square, 23.5);
}

TEST(RandomStoppingTest, ContinuesFromWhatWasStored) {
  RandomStopping stopping = RandomStopping::FromAnswersLeft(1);
  EXPECT_TRUE(stopping.ShouldAnswer());
  EXPECT_FALSE(stopping.ShouldAnswer());
}

}  // namespace
}  // namespace submix::mechanism

#include "submix/base/progress_bar.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::base {
namespace progress_bar_test {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

ProgressState HalfDone() {
  return {.title = "fine-tuning",
          .unit = "tokens",
          .note = "charged 1.25 nats of 8",
          .total = 1'000'000,
          .skipped = 100'000,
          .done = 500'000,
          .seconds = 40};
}

// Of UTF-8, which only cells of the bar need.
std::ptrdiff_t Characters(const std::string& text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

TEST(ProgressBarTest, NoLineIsWiderThanTheTerminal) {
  ProgressState state = HalfDone();
  for (const char* title :
       {"", "fine-tuning", "a title that is longer than the usual column for it"}) {
    state.title = title;
    for (const std::int64_t total : {0, 1'000'000}) {
      state.total = total;
      for (std::size_t width = 1; width <= 200; ++width) {
        EXPECT_LE(Characters(BarLine(state, width)), static_cast<std::ptrdiff_t>(width)) << title;
      }
    }
  }
}

TEST(ProgressBarTest, TheRateIsOfThisRunAndTheTimeOfWhatIsLeft) {
  EXPECT_THAT(BarLine(HalfDone(), 79), HasSubstr(" 50 %  1e+04 tokens/s  ETA 0:50"));
  ProgressState state = HalfDone();
  state.is_final = true;
  EXPECT_THAT(BarLine(state, 79), HasSubstr("in 0:40"));
}

TEST(ProgressBarTest, NumbersAreTheLastToFindNoRoom) {
  EXPECT_THAT(BarLine(HalfDone(), 120), EndsWith("  charged 1.25 nats of 8"));
  EXPECT_THAT(BarLine(HalfDone(), 79), StartsWith("fine-tuning "));
  EXPECT_THAT(BarLine(HalfDone(), 79), Not(HasSubstr("charged")));
  EXPECT_THAT(BarLine(HalfDone(), 40), StartsWith("fine-t"));
  EXPECT_THAT(BarLine(HalfDone(), 40), EndsWith("ETA 0:50"));
}

TEST(ProgressBarTest, WorkThatNeverBeganSaysNothing) {
  ::testing::internal::CaptureStderr();
  { const ProgressBar bar("Scoring", 100, "tokens", ProgressStyle::kLines); }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(ProgressBarTest, ElsewhereThanOnATerminalLinesAreRare) {
  ::testing::internal::CaptureStderr();
  {
    ProgressBar bar("Scoring", 100, "tokens", ProgressStyle::kLines);
    for (int i = 0; i < 100; ++i) bar.Advance(1);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(said, '\n'), 1);
  EXPECT_THAT(said, StartsWith("Scoring: 100 %"));
}

}  // namespace progress_bar_test
}  // namespace submix::base

#include "submix/engine/text_stream.h"

#include <gtest/gtest.h>

namespace submix::engine {
namespace {

TEST(TextStreamTest, PassesTextThroughWithoutStops) {
  TextStream stream({});
  EXPECT_EQ(stream.Add("ab"), "ab");
  EXPECT_EQ(stream.Add("c"), "c");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(TextStreamTest, HoldsBackWhatMayBecomeAStopString) {
  TextStream stream({"END", "\n\n"});
  EXPECT_EQ(stream.Add("x E"), "x ");
  EXPECT_EQ(stream.Add("N"), "");
  EXPECT_EQ(stream.Add("t\n"), "ENt");
  EXPECT_EQ(stream.Add("y E"), "\ny ");
  EXPECT_EQ(stream.Add("NDz"), "");
  EXPECT_TRUE(stream.stopped());
  EXPECT_EQ(stream.Add("more"), "");
  EXPECT_EQ(stream.Flush(), "");
}

TEST(TextStreamTest, EndsBeforeTheEarliestStop) {
  TextStream stream({"bb", "a"});
  EXPECT_EQ(stream.Add("xyabb"), "xy");
  EXPECT_TRUE(stream.stopped());
}

TEST(TextStreamTest, NeverSplitsACharacter) {
  TextStream stream({});
  const std::string euro = "\xE2\x82\xAC";
  EXPECT_EQ(stream.Add("a" + euro.substr(0, 1)), "a");
  EXPECT_EQ(stream.Add(euro.substr(1, 1)), "");
  EXPECT_EQ(stream.Add(euro.substr(2)), euro);
  EXPECT_EQ(stream.Add("\xFF"), "");
  EXPECT_EQ(stream.Flush(), "\xFF");
}

}  // namespace
}  // namespace submix::engine

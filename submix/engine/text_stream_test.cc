#include "submix/engine/text_stream.h"

#include <gtest/gtest.h>

namespace submix::engine {
namespace text_stream_test {

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
}

TEST(TextStreamTest, WhatIsNoUtf8IsReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  const auto text = [](std::string_view bytes) {
    TextStream stream({"|"});
    std::string whole = stream.Add(bytes);
    return whole + stream.Flush();
  };
  EXPECT_EQ(text("a\xFF"
                 "b"),
            "a" + replaced + "b");
  EXPECT_EQ(text("\xBB"), replaced);
  EXPECT_EQ(text("\xC0\xAF"), replaced + replaced);                 // too long
  EXPECT_EQ(text("\xED\xA0\x80"), replaced + replaced + replaced);  // a surrogate
  EXPECT_EQ(text("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced);
  EXPECT_EQ(text("\xE2\x82|"), replaced);
  EXPECT_EQ(text("\xE2\x82"), replaced);  // never completed
  EXPECT_EQ(text("\xF0\x9F\x98\x80\xC3\xA9"), "\xF0\x9F\x98\x80\xC3\xA9");
}

}  // namespace text_stream_test
}  // namespace submix::engine

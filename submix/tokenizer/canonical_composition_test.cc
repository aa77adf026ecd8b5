#include "submix/tokenizer/canonical_composition.h"

#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace canonical_composition_test {

// From UAX #15 and its conformance test.
TEST(CanonicalCompositionTest, ComposesAsTheStandardSays) {
  EXPECT_EQ(ComposeCanonically(""), "");
  EXPECT_EQ(ComposeCanonically("plain \u00e9"), "plain \u00e9");
  EXPECT_EQ(ComposeCanonically("e\u0301"), "\u00e9");
  EXPECT_EQ(ComposeCanonically("\u212b \u2126"), "\u00c5 \u03a9");  // singletons
  EXPECT_EQ(ComposeCanonically("d\u0307\u0323"), "\u1e0d\u0307");   // reordered
  EXPECT_EQ(ComposeCanonically("a\u0323\u0302"), "\u1ead");         // twice
  EXPECT_EQ(ComposeCanonically("a\u0315\u0300\u05ae\u0300b"), "\u00e0\u05ae\u0300\u0315b");
  EXPECT_EQ(ComposeCanonically("\u1100\u1161\u11a8"), "\uac01");  // Hangul
  EXPECT_EQ(ComposeCanonically("\uac00\u11a8 \u11a8"), "\uac01 \u11a8");
  EXPECT_EQ(ComposeCanonically("\u0958"), "\u0915\u093c");         // excluded
  EXPECT_EQ(ComposeCanonically("e\u0334\u0301"), "\u00e9\u0334");  // not blocked
  EXPECT_EQ(ComposeCanonically("e\u0300\u0301"), "\u00e8\u0301");  // blocked
}

TEST(CanonicalCompositionTest, LeavesIllFormedBytesWhereTheyAre) {
  EXPECT_EQ(ComposeCanonically("e\xff\u0301"), "e\xff\u0301");
  EXPECT_EQ(ComposeCanonically("\xcc"), "\xcc");
  EXPECT_EQ(ComposeCanonically("e\u0301\xe2\x82"), "\u00e9\xe2\x82");
  EXPECT_EQ(ComposeCanonically("\xed\xa0\x80 e\u0301"), "\xed\xa0\x80 \u00e9");
}

// The library's own ordering would take hours.
TEST(CanonicalCompositionTest, OrdersALongRunOfMarksAtOnce) {
  constexpr std::size_t kPairs = 1 << 18;
  std::string text;
  for (std::size_t i = 0; i < kPairs; ++i) text += "\u0307\u0323";
  std::string ordered;
  for (const char* mark : {"\u0323", "\u0307"}) {
    for (std::size_t i = 0; i < kPairs; ++i) ordered += mark;
  }
  EXPECT_EQ(ComposeCanonically("q" + text), "q" + ordered);
}

}  // namespace canonical_composition_test
}  // namespace submix::tokenizer

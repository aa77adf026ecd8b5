#include "submix/base/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::base {
namespace text_table_test {

using ::testing::ElementsAre;

TEST(TextTableTest, WordsFillLines) {
  EXPECT_THAT(WrappedLines("one two three", 7), ElementsAre("one two", "three"));
  EXPECT_THAT(WrappedLines("  one  two ", 7), ElementsAre("one two"));
  EXPECT_THAT(WrappedLines("a longest-word b", 4), ElementsAre("a", "longest-word", "b"));
  EXPECT_THAT(WrappedLines("", 4), ElementsAre(""));
}

TEST(TextTableTest, CellsThatFitStandInColumns) {
  EXPECT_THAT(TableLines({{"", "user", "part"}, {"proof", "a", "b"}, {"x", "y", ""}}),
              ElementsAre("       user  part", "proof  a     b", "x      y"));
}

TEST(TextTableTest, WideCellsShareWhatIsLeftAndWrap) {
  // 20 - 1 - 2 * 2 = 15: the narrow column takes 4, the wide one has 11.
  EXPECT_THAT(TableLines({{"a", "three words here", "four"}}, 20),
              ElementsAre("a  three words  four", "   here"));
  EXPECT_THAT(TableLines({{"a", "one two three", "four five six"}}, 20),
              ElementsAre("a  one two  four", "   three    five six"));
}

TEST(TextTableTest, NoRowsAreNoLines) { EXPECT_TRUE(TableLines({}).empty()); }

}  // namespace text_table_test
}  // namespace submix::base

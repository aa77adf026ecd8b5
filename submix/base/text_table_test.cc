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

TEST(NumberLinesTest, CellsStandToTheRightUnderTheirHeaders) {
  EXPECT_THAT(
      NumberLines({{"model", "user epsilon"}, {"a", "8"}, {"public", "10.5"}}),
      ElementsAre("   model  user epsilon", "       a             8", "  public          10.5"));
}

TEST(NumberLinesTest, WordsOfHeadersStandBelowEachOtherWhereALineIsTooShort) {
  EXPECT_THAT(NumberLines({{"model", "user epsilon"}, {"a", "8"}}, 20),
              ElementsAre("            user", "  model  epsilon", "      a        8"));
}

TEST(NumberLinesTest, NoColumnIsWiderThanHalfALine) {
  EXPECT_THAT(NumberLines({{"text", "n"}, {"one two three", "1"}}, 16),
              ElementsAre("     text  n", "  one two  1", "    three"));
  EXPECT_THAT(NumberLines({{"n", "path"}, {"1", "/a/very/long/path"}}, 16),
              ElementsAre("  n      path", "  1  /a/very/", "     long/pat", "            h"));
}

TEST(NumberLinesTest, ColumnsThatAreTooManyGoOnBelow) {
  EXPECT_THAT(
      NumberLines({{"m", "first", "second", "third"}, {"a", "1", "2", "3"}, {"b", "4", "5", "6"}},
                  18),
      ElementsAre("  m  first  second", "  a      1       2", "  b      4       5", "",
                  "  m  third", "  a      3", "  b      6"));
}

TEST(NumberLinesTest, RowsAreCountedWhereTheirFirstCellsAreAlike) {
  EXPECT_THAT(
      NumberLines({{"m", "first", "second"}, {"a", "1", "2"}, {"b", "3", "4"}, {"a", "5", "6"}},
                  16),
      ElementsAre("  row  m  first", "    1  a      1", "    2  b      3", "    3  a      5", "",
                  "  row  m  second", "    1  a       2", "    2  b       4", "    3  a       6"));
}

}  // namespace text_table_test
}  // namespace submix::base

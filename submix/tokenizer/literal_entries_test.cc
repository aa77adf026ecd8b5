#include "submix/tokenizer/literal_entries.h"

#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace literal_entries_test {

const LiteralEntries kEntries(
    {{"\n", 1}, {"\n\n", 2}, {"\n\n\n\n", 4}, {"<b>", 5}, {"\xe2\x96\x81", 6}});

void ExpectMatch(std::string_view text, std::size_t start, std::size_t begin, std::size_t end,
                 base::TokenId id) {
  const auto match = kEntries.Find(text, start);
  ASSERT_TRUE(match.has_value()) << text;
  EXPECT_EQ(match->begin, begin) << text;
  EXPECT_EQ(match->end, end) << text;
  EXPECT_EQ(match->id, id) << text;
}

TEST(LiteralEntriesTest, FindsTheFirstAndThereTheLongest) {
  ExpectMatch("a\nb\n\n", 0, 1, 2, 1);
  ExpectMatch("a\nb\n\n", 2, 3, 5, 2);
  ExpectMatch("\n\n\nx", 0, 0, 2, 2);  // three are no entry
  ExpectMatch("\n\n\n\n\n", 0, 0, 4, 4);
  ExpectMatch("<b<b>", 0, 2, 5, 5);
  ExpectMatch("\xe2\x96\xe2\x96\x81", 0, 2, 5, 6);
}

TEST(LiteralEntriesTest, FindsNothingWhereNothingIs) {
  EXPECT_FALSE(kEntries.Find("", 0).has_value());
  EXPECT_FALSE(kEntries.Find("<b<b \xe2\x96", 0).has_value());
  EXPECT_FALSE(kEntries.Find("a\n", 2).has_value());
  EXPECT_FALSE(LiteralEntries().Find("a\n", 0).has_value());
}

}  // namespace literal_entries_test
}  // namespace submix::tokenizer

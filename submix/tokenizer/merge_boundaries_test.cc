#include "submix/tokenizer/merge_boundaries.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace merge_boundaries_test {

using ::testing::ElementsAre;

TEST(MergeBoundariesTest, CutWhereNoMergeReaches) {
  MergeBoundaries boundaries(4);
  boundaries.AddMerge("▁", "t");
  boundaries.AddMerge("▁t", "h");
  boundaries.AddMerge("é", "▁x");  // joins é and ▁
  const std::string word = "▁tht▁thé▁x\xff▁t";
  std::vector<std::string> stretches;
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t end = boundaries.StretchEnd(word, begin);
    stretches.push_back(word.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_THAT(stretches, ElementsAre("▁th", "t", "▁th", "é▁", "x", "\xff", "▁t"));
}

}  // namespace merge_boundaries_test
}  // namespace submix::tokenizer

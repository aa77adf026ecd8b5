#include <map>
#include <set>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/attacks/exposure.h"

namespace submix::eval {
namespace code_space_test {

TEST(CodeSpaceTest, EveryCodeOccursOnceAndOnlyTheAlphabetMoves) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CodeSpace space, CodeSpace::Create(" a7-2b", "0123456789"));
  EXPECT_EQ(space.size(), 100);
  std::set<std::string> codes;
  for (std::uint64_t i = 0; i < 100; ++i) codes.insert(space.Code(i));
  EXPECT_EQ(codes.size(), 100u);
  EXPECT_TRUE(codes.contains(" a7-2b"));
  EXPECT_TRUE(codes.contains(" a0-0b"));
  EXPECT_FALSE(codes.contains(" a0-01"));
}

TEST(CodeSpaceTest, DrawsAreUniform) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CodeSpace space, CodeSpace::Create("xy", "xyz"));
  const auto random = base::MakeSeededRandomSource(1);
  std::map<std::string, int> counts;
  for (int i = 0; i < 9000; ++i) ++counts[space.Draw(*random)];
  EXPECT_EQ(counts.size(), 9u);
  for (const auto& [code, count] : counts) EXPECT_NEAR(count, 1000, 150) << code;
}

TEST(CodeSpaceTest, LargeSpacesAreCountedAndDrawnFrom) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CodeSpace space,
                              CodeSpace::Create("12345678901234567890", "0123456789"));
  EXPECT_NEAR(space.size(), 1e20, 1e5);
  const auto random = base::MakeSeededRandomSource(1);
  EXPECT_NE(space.Draw(*random), space.Draw(*random));
}

TEST(CodeSpaceTest, RefusesWhatLeavesNothingToGuess) {
  using base::StatusCode;
  using base::StatusIs;
  using testing::HasSubstr;
  EXPECT_THAT(CodeSpace::Create("abc", "0123456789"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--alphabet")));
  EXPECT_THAT(CodeSpace::Create("1", "1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least two")));
  EXPECT_THAT(CodeSpace::Create("1", "121"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("once")));
}

}  // namespace code_space_test
}  // namespace submix::eval

#include "submix/eval/attacks/attack_input.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/eval/measuring/testing/reciting_predictor.h"

namespace submix::eval {
namespace attack_input_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

std::string File(const std::string& content) {
  const std::string path = testing::TempDir() + "/attack_input.jsonl";
  EXPECT_TRUE(base::WriteFile(path, content).ok());
  return path;
}

TEST(AttackInputTest, ReadsCodes) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto codes,
      ReadPlantedCodes(File("{\"prompt\": \"is:\", \"secret\": \" 12\", \"user\": \"x\"}\n\n"
                            "{\"prompt\": \"b\", \"secret\": \"34\"}\n")));
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].prompt, "is:");
  EXPECT_EQ(codes[0].secret, " 12");
  EXPECT_EQ(codes[1].secret, "34");
}

TEST(AttackInputTest, ReadsExamplesAsTextOrTokens) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto examples,
      ReadTargetedExamples(File("{\"prefix\": \"12\", \"suffix\": \"345\"}\n"
                                "{\"prefix\": [1, 2], \"suffix\": [3, 4, 5]}\n"),
                           DigitTokenizer()));
  ASSERT_EQ(examples.size(), 2u);
  for (const TargetedExample& example : examples) {
    EXPECT_EQ(example.prefix, (std::vector<base::TokenId>{1, 2}));
    EXPECT_EQ(example.suffix, (std::vector<base::TokenId>{3, 4, 5}));
  }
}

TEST(AttackInputTest, WrongLinesAreNamedAndNotQuoted) {
  EXPECT_THAT(
      ReadPlantedCodes(File("{\"prompt\": \"a\", \"secret\": \"1\"}\n{\"prompt\": \"a\"}\n")),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr(".jsonl:2: field \"secret\": expected a string")));
  EXPECT_THAT(ReadPlantedCodes(File("hush\n")),
              StatusIs(StatusCode::kInvalidArgument,
                       testing::AllOf(HasSubstr(":1: "), testing::Not(HasSubstr("hush")))));
  EXPECT_THAT(ReadPlantedCodes(File("\n")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least one line")));
  const DigitTokenizer tokenizer;
  EXPECT_THAT(ReadTargetedExamples(File("{\"prefix\": [1], \"suffix\": [11]}"), tokenizer),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("integers from 0 to 10")));
  EXPECT_THAT(ReadTargetedExamples(File("{\"prefix\": [1], \"suffix\": []}"), tokenizer),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least one token")));
  EXPECT_THAT(
      ReadTargetedExamples(File("{\"prefix\": [1], \"suffix\": \"2\"}"), tokenizer),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"suffix\": expected a list of integers")));
  EXPECT_THAT(ReadTargetedExamples(File("{\"prefix\": [1]}"), tokenizer),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"suffix\"")));
}

}  // namespace attack_input_test
}  // namespace submix::eval

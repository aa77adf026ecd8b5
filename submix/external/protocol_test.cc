#include "submix/external/protocol.h"

#include <array>
#include <vector>

#include "submix/base/testing/status_matchers.h"

namespace submix::external {
namespace protocol_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kHello[] =
    R"({"protocol": 2, "rows": 9, "vocabulary": 50257, "context": 1024, "type": "float16",)"
    R"( "digest": "d"})";

std::string Changed(const std::string& from, const std::string& to) {
  std::string text = kHello;
  return text.replace(text.find(from), from.size(), to);
}

TEST(ProtocolTest, AHelloSaysWhatIsComputed) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Hello hello, ParseHello(kHello, "s"));
  EXPECT_EQ(hello.rows, 9);
  EXPECT_EQ(hello.vocabulary, 50257);
  EXPECT_EQ(hello.context, 1024);
  EXPECT_TRUE(hello.is_float16);
  EXPECT_EQ(hello.digest, "d");
  EXPECT_EQ(hello.tokenizer, "");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Hello other,
                              ParseHello(Changed(R"("d")", R"("d", "tokenizer": "t")"), "s"));
  EXPECT_EQ(other.tokenizer, "t");
}

TEST(ProtocolTest, AWrongHelloIsRefusedByField) {
  const auto is_refused = [](const std::string& field) {
    return StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("/a/socket"), HasSubstr(field)));
  };
  for (const auto& [from, to, field] : std::vector<std::array<std::string, 3>>{
           {R"("rows": 9)", R"("rows": 0)", "rows"},
           {R"("rows": 9)", R"("rows": 3000000000)", "rows"},
           {R"("vocabulary": 50257)", R"("vocabulary": -1)", "vocabulary"},
           {R"("context": 1024)", R"("context": "long")", "context"},
           {"float16", "bfloat16", "type"},
           {R"("digest": "d")", R"("digest": 7)", "digest"},
           {R"("protocol": 2)", R"("protocol": 0)", "protocol"},
           {"{", "", "JSON"}}) {
    EXPECT_THAT(ParseHello(Changed(from, to), "/a/socket"), is_refused(field)) << to;
  }
  EXPECT_THAT(ParseHello(Changed(R"("protocol": 2)", R"("protocol": 1)"), "/a/socket"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("version 1")));
}

// Byte for byte as docs/logits_protocol.md has it.
TEST(ProtocolTest, AStepIsTheseBytes) {
  const std::vector<ensemble::SequenceId> closed = {3};
  const std::vector<base::TokenId> tokens = {1, 258};
  const std::vector<ensemble::Predictor::Append> appends = {
      {4, tokens, true}, {-1, std::span(tokens).first(1), false}};
  const std::vector<int> expected = {
      7,    1,    0,    0,    0,    0,    0,    0,  // the step's number
      1,    0,    0,    0,    2,    0,    0,    0,  // one closed, two appends
      3,    0,    0,    0,    0,    0,    0,    0,  // closed
      4,    0,    0,    0,    0,    0,    0,    0,
      1,    0,    0,    0,    2,    0,    0,    0,  // predicts, two tokens
      1,    0,    0,    0,    2,    1,    0,    0,  // 1, 258
      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
      0,    0,    0,    0,    1,    0,    0,    0,  // a piece of a prompt
      1,    0,    0,    0};
  const std::string message = StepMessage(263, closed, appends);
  EXPECT_EQ(
      std::vector<int>(reinterpret_cast<const std::uint8_t*>(message.data()),
                       reinterpret_cast<const std::uint8_t*>(message.data()) + message.size()),
      expected);
}

}  // namespace protocol_test
}  // namespace submix::external

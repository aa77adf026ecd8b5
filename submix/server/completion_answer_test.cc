#include "submix/server/completion_answer.h"

#include <string>

#include <gmock/gmock.h>

namespace submix::server {
namespace completion_answer_test {

// What a connection sends that is woken when all tokens are there: it goes on after each write.
std::string Sent(const HttpResponse& streamed) {
  std::string sent;
  for (bool is_over = false; !is_over;) {
    HttpResponse piece;
    is_over = streamed.unfinished->Proceed(piece);
    if (piece.body.empty()) break;
    sent += piece.body;
  }
  return sent;
}

// Such tokens are held back for a stop string, or are half of a character. A choice may have more
// of them than another has tokens.
TEST(CompletionAnswer, AStreamGoesOnBehindTokensWithoutText) {
  for (const std::size_t choices : {1, 2}) {
    std::vector<std::unique_ptr<engine::Completion>> completions;
    for (std::size_t i = 0; i < choices; ++i) {
      const auto stream = std::make_shared<engine::CompletionStream>();
      for (std::size_t empty = 0; empty <= 2 * i; ++empty) stream->Add({});
      for (const char* text : {"one", "", "", "two", ""}) stream->Add({.text = text});
      stream->Add({.text = "", .end = engine::AnswerEnd::kMaxTokens});
      completions.push_back(std::make_unique<engine::Completion>(stream));
    }
    const HttpResponse streamed =
        StreamedAnswer({std::make_unique<RequestVisit>("/", [](const RequestRecord&) {}),
                        std::move(completions),
                        {Endpoint::kCompletions, "id", /*created=*/0, "model",
                         /*include_usage=*/false}});
    const std::string sent = Sent(streamed);
    EXPECT_THAT(sent, testing::EndsWith("data: [DONE]\n\n")) << choices;
    EXPECT_THAT(sent, testing::HasSubstr("two"));
  }
}

}  // namespace completion_answer_test
}  // namespace submix::server

#include "submix/server/completion_answer.h"

#include <string>
#include <utility>
#include <vector>

namespace submix::server {
namespace {

constexpr int kHungUp = 499;  // in records alone: nobody is there to read it

// Of both kinds.
class CompletionAnswer : public UnfinishedAnswer {
 public:
  explicit CompletionAnswer(AnsweredCall call) : call_(std::move(call)) {
    call_.visit->record.status = kHungUp;
  }

 protected:
  // What has come of the choices.
  std::vector<Choice> Next() {
    auto pieces = call_.running.Next();
    record().completion_tokens = call_.running.tokens();
    return pieces;
  }
  Usage usage() const { return {call_.visit->record.prompt_tokens, call_.running.tokens()}; }
  RequestRecord& record() { return call_.visit->record; }

  AnsweredCall call_;
};

class WholeCompletionAnswer final : public CompletionAnswer {
 public:
  explicit WholeCompletionAnswer(AnsweredCall call)
      : CompletionAnswer(std::move(call)), whole_(call_.choices) {
    for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i].index = static_cast<int>(i);
  }
  // Hung up on, its record counts what was computed.
  ~WholeCompletionAnswer() override {
    call_.running.DropTokens();
    record().completion_tokens = call_.running.tokens();
  }

  void SetWaker(std::function<void()> wake) override {
    call_.running.SetWaker(wake, engine::WakeFor::kEnd);
  }

  bool Proceed(HttpResponse& response) override {
    for (auto pieces = Next(); !pieces.empty(); pieces = Next()) {
      for (const Choice& piece : pieces) {
        Choice& choice = whole_[static_cast<std::size_t>(piece.index)];
        choice.text += piece.text;
        choice.finish_reason = piece.finish_reason;
      }
    }
    if (!call_.running.ended()) return false;
    if (const auto error = call_.running.error()) {
      response = call_.visit->Fail(*error);
      return true;
    }
    record().status = 200;
    response.body = call_.writer.Whole(whole_, usage());
    return true;
  }

 private:
  std::vector<Choice> whole_;
};

class StreamedCompletionAnswer final : public CompletionAnswer {
 public:
  explicit StreamedCompletionAnswer(AnsweredCall call) : CompletionAnswer(std::move(call)) {
    record().streamed = true;
  }

  void SetWaker(std::function<void()> wake) override {
    call_.running.SetWaker(wake, engine::WakeFor::kEveryToken);
  }

  bool Proceed(HttpResponse& response) override {
    std::string& events = response.body;
    for (; opened_ < call_.choices; ++opened_) {
      events += call_.writer.OpeningEvent(static_cast<int>(opened_));
    }
    for (const Choice& choice : Next()) {
      const bool is_last = choice.finish_reason != engine::FinishReason::kNone;
      if (is_last || !choice.text.empty()) events += call_.writer.Event(choice);
    }
    if (!call_.running.ended()) return false;
    const auto error = call_.running.error();
    record().status = error ? error->status : 200;
    if (error) {
      events += ErrorEvent(*error);
      return true;
    }
    if (call_.include_usage) events += call_.writer.UsageEvent(usage());
    events += kDoneEvent;
    return true;
  }

 private:
  std::size_t opened_ = 0;
};

HttpResponse Unfinished(const ResponseWriter& writer, std::unique_ptr<UnfinishedAnswer> answer) {
  HttpResponse response;
  response.headers.emplace_back("x-request-id", writer.id());
  response.unfinished = std::move(answer);
  return response;
}

}  // namespace

HttpResponse WholeAnswer(AnsweredCall call) {
  const ResponseWriter writer = call.writer;
  return Unfinished(writer, std::make_unique<WholeCompletionAnswer>(std::move(call)));
}

HttpResponse StreamedAnswer(AnsweredCall call) {
  const ResponseWriter writer = call.writer;
  HttpResponse response =
      Unfinished(writer, std::make_unique<StreamedCompletionAnswer>(std::move(call)));
  response.is_stream = true;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("X-Accel-Buffering", "no");  // proxies must not collect events
  return response;
}

}  // namespace submix::server

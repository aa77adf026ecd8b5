#include "submix/server/completion_answer.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "submix/server/error_response.h"

namespace submix::server {
namespace {

using engine::AnswerEnd;

constexpr int kHungUp = 499;  // in records alone: nobody is there to read it
constexpr std::chrono::nanoseconds kAtOnce{0};

bool IsRunning(const std::unique_ptr<engine::Completion>& completion) {
  return completion->end() == AnswerEnd::kNotYet;
}

// Of both kinds.
class CompletionAnswer : public UnfinishedAnswer {
 public:
  CompletionAnswer(AnsweredCall call, engine::WakeFor wakes_for)
      : call_(std::move(call)), wakes_for_(wakes_for) {
    record().status = kHungUp;
  }

  void SetWaker(std::function<void()> wake) override {
    for (const auto& completion : call_.completions) completion->SetWaker(wake, wakes_for_);
  }

 protected:
  // What has come of the choices, at most one piece of each. Does not wait.
  std::vector<Choice> Next() {
    std::vector<Choice> pieces;
    for (std::size_t i = 0; i < call_.completions.size(); ++i) {
      if (!IsRunning(call_.completions[i])) continue;
      const auto event = call_.completions[i]->Next(kAtOnce);
      if (!event) continue;
      ++record().completion_tokens;
      pieces.push_back({static_cast<int>(i), event->text, event->end});
    }
    return pieces;
  }
  bool ended() const { return std::ranges::none_of(call_.completions, IsRunning); }
  // The end of each choice that stopped where the deployment's answers were used up. What the call
  // has got until then is paid for, and is its answer.
  std::vector<Choice> CutShort() const {
    std::vector<Choice> ends;
    for (std::size_t i = 0; i < call_.completions.size(); ++i) {
      if (!IsCutShort(call_.completions[i])) continue;
      ends.push_back({static_cast<int>(i), "", AnswerEnd::kMaxTokens});
    }
    return ends;
  }
  // Of the first choice that did not end well.
  std::optional<ApiError> failure() const {
    for (const auto& completion : call_.completions) {
      const base::Status status = completion->status();
      if (status.ok() || IsCutShort(completion)) continue;
      ApiError error = RefusalError(status);
      if (completion->end() == AnswerEnd::kDeadline) {
        error.status = 504;
        error.code = "timeout";
      }
      return error;
    }
    return std::nullopt;
  }
  RequestRecord& record() const { return call_.visit->record; }
  Usage usage() { return {record().prompt_tokens, record().completion_tokens}; }

  const AnsweredCall call_;

 private:
  bool IsCutShort(const std::unique_ptr<engine::Completion>& completion) const {
    return completion->end() == AnswerEnd::kExhausted && record().completion_tokens > 0;
  }

  const engine::WakeFor wakes_for_;
};

class WholeCompletionAnswer final : public CompletionAnswer {
 public:
  explicit WholeCompletionAnswer(AnsweredCall call)
      : CompletionAnswer(std::move(call), engine::WakeFor::kEnd), whole_(call_.completions.size()) {
    for (std::size_t i = 0; i < whole_.size(); ++i) whole_[i].index = static_cast<int>(i);
  }
  // Hung up on, its record counts what was computed.
  ~WholeCompletionAnswer() override {
    for (const auto& completion : call_.completions) {
      while (completion->Next(kAtOnce)) ++record().completion_tokens;
    }
  }

  bool Proceed(HttpResponse& response) override {
    for (auto pieces = Next(); !pieces.empty(); pieces = Next()) {
      for (const Choice& piece : pieces) {
        Choice& choice = whole_[static_cast<std::size_t>(piece.index)];
        choice.text += piece.text;
        choice.end = piece.end;
      }
    }
    if (!ended()) return false;
    if (const auto error = failure()) {
      response = call_.visit->Fail(*error);
      return true;
    }
    for (const Choice& end : CutShort()) {
      whole_[static_cast<std::size_t>(end.index)].end = end.end;
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
  explicit StreamedCompletionAnswer(AnsweredCall call)
      : CompletionAnswer(std::move(call), engine::WakeFor::kEveryToken) {
    record().streamed = true;
  }

  bool Proceed(HttpResponse& response) override {
    std::string& events = response.body;
    for (; opened_ < call_.completions.size(); ++opened_) {
      events += call_.writer.OpeningEvent(static_cast<int>(opened_));
    }
    // On to something to write: what is left then is asked for when that has left.
    for (auto pieces = Next(); !pieces.empty(); pieces = Next()) {
      for (const Choice& choice : pieces) {
        const bool is_last = choice.end != AnswerEnd::kNotYet;
        if (is_last || !choice.text.empty()) events += call_.writer.Event(choice);
      }
      if (!events.empty()) break;
    }
    if (!ended()) return false;
    const auto error = failure();
    record().status = error ? error->status : 200;
    if (error) {
      events += ErrorEvent(*error);
      return true;
    }
    for (const Choice& end : CutShort()) events += call_.writer.Event(end);
    events += call_.writer.UsageEvent(usage());
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

#include "submix/server/http_server.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/digest.h"
#include "submix/base/random.h"
#include "submix/server/metrics.h"
#include "submix/server/openai_response.h"
#include "submix/server/page_response.h"
#include "submix/server/running_call.h"

namespace submix::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kCompletionsPath = "/v1/completions";
constexpr std::string_view kChatPath = "/v1/chat/completions";
constexpr std::string_view kModelsPath = "/v1/models";
constexpr int kHungUp = 499;                   // never sent: nobody is there to read it
constexpr milliseconds kPatience{100};         // between two looks at whether the client is there
constexpr milliseconds kFlushPatience{2'000};  // for the last bytes, after the last token

std::string RandomId() {
  std::array<std::uint8_t, 12> bytes{};
  base::FillWithEntropy(std::as_writable_bytes(std::span(bytes)));
  return base::ToHex(bytes);
}

ApiError HttpError(int status) {
  ApiError error{.status = status};
  switch (status) {
    case 404:
      error.message = "There is no such URL here.";
      error.code = "unknown_url";
      break;
    case 405:
      error.message = "This URL is not for this method.";
      break;
    case 408:
      error.message = "The request took too long to arrive.";
      break;
    case 411:
      error.message = "The request has no body: say its length.";
      break;
    case 413:
      error.message = "The request is larger than this server accepts.";
      break;
    case 415:
      error.message = "The body must be JSON, neither compressed nor a form.";
      break;
    case 503:
      error.message = "The server is busy or about to stop: try again.";
      break;
    case 500:
      error.message = "The server failed.";
      break;
    default:
      error.message = "The request is not well-formed HTTP.";
  }
  if (status >= 500) error.type = "server_error";
  return error;
}

ApiError WrongModel(const std::string& served) {
  return {.status = 404,
          .message = "The model does not exist here: this server has '" + served + "'.",
          .param = "model",
          .code = "model_not_found"};
}

// A client that tries again pays again, and a quota does not come back.
HttpResponse ErrorResponse(const ApiError& error) {
  HttpResponse response{.status = error.status, .body = ErrorBody(error)};
  if (error.code == "insufficient_quota" || error.code == "no_prediction" || error.status == 504) {
    response.headers.emplace_back("x-should-retry", "false");
  } else if (error.status == 429 || error.status == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

// How many completion requests are between their arrival and their last byte.
class OpenRequests {
 public:
  void Enter() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void WaitUntilNone(steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    changed_.wait_until(lock, deadline, [&] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;  // guarded by mutex_
};

class Endpoints final : public HttpHandler {
 public:
  Endpoints(const HttpServerOptions& options, engine::Scheduler& scheduler,
            const engine::ApiKeys* keys)
      : options_(options), scheduler_(scheduler), keys_(keys) {}

  std::vector<std::string> BodyPaths() const override {
    return {std::string(kCompletionsPath), std::string(kChatPath)};
  }
  std::optional<HttpResponse> Refuse(HttpRequest& head) override;
  HttpResponse Handle(const HttpRequest& request,
                      const std::function<bool()>& client_is_gone) override;
  HttpResponse Error(int status) override { return ErrorResponse(HttpError(status)); }

  void StartDraining() { is_draining_ = true; }
  OpenRequests& open_requests() { return open_requests_; }

 private:
  class Visit;
  class Stream;

  // The key that the request is counted for.
  std::variant<engine::ApiKey, ApiError> Authenticate(const HttpRequest& request) const;
  HttpResponse Models(const HttpRequest& request) const;
  HttpResponse Ready() const;
  HttpResponse Complete(Endpoint endpoint, const HttpRequest& request,
                        const std::function<bool()>& client_is_gone);
  std::variant<std::vector<engine::Submission>, ApiError> Submissions(const CompletionCall& call,
                                                                      const HttpRequest& request,
                                                                      const engine::ApiKey& key,
                                                                      RequestRecord& record) const;
  std::optional<ApiError> CheckLength(const CompletionCall& call, const std::string& prompt) const;
  std::optional<ApiError> SetLength(const CompletionCall& call, engine::Request& request) const;
  HttpResponse Whole(Visit& visit, RunningCall call, const ResponseWriter& writer,
                     std::size_t choices, const std::function<bool()>& client_is_gone);

  const HttpServerOptions& options_;
  engine::Scheduler& scheduler_;
  const engine::ApiKeys* const keys_;
  std::atomic<bool> is_draining_{false};
  OpenRequests open_requests_;
  StatusCounts answers_;
};

// One completion request, from its arrival to its last byte: counts and records it at its end.
class Endpoints::Visit {
 public:
  Visit(Endpoints& endpoints, const std::string& path) : endpoints_(endpoints) {
    record.id = RandomId();
    record.endpoint = path;
    endpoints_.open_requests_.Enter();
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    record.duration = std::chrono::duration_cast<milliseconds>(steady_clock::now() - start_);
    endpoints_.answers_.Add(record.status);
    if (endpoints_.options_.on_request) endpoints_.options_.on_request(record);
    endpoints_.open_requests_.Leave();
  }

  HttpResponse Fail(const ApiError& error) {
    record.status = error.status;
    return ErrorResponse(error);
  }

  RequestRecord record;

 private:
  Endpoints& endpoints_;
  const steady_clock::time_point start_ = steady_clock::now();
};

// A streamed answer. Destroyed before its end, it has been hung up on, and cancels.
class Endpoints::Stream {
 public:
  Stream(std::shared_ptr<Visit> visit, RunningCall call, const ResponseWriter& writer,
         std::size_t choices, bool include_usage)
      : visit_(std::move(visit)),
        call_(std::move(call)),
        writer_(writer),
        choices_(choices),
        include_usage_(include_usage) {
    visit_->record.status = kHungUp;
    visit_->record.streamed = true;
  }

  // As HttpResponse::stream.
  bool Next(std::string& chunk) {
    for (; opened_ < choices_; ++opened_) chunk += writer_.OpeningEvent(static_cast<int>(opened_));
    if (!chunk.empty()) return true;
    for (const Choice& choice : call_.Next(kPatience)) {
      const bool is_last = choice.finish_reason != engine::FinishReason::kNone;
      if (is_last || !choice.text.empty()) chunk += writer_.Event(choice);
    }
    visit_->record.completion_tokens = call_.tokens();
    if (!call_.ended()) return true;
    const auto error = call_.error();
    visit_->record.status = error ? error->status : 200;
    if (error) {
      chunk += ErrorEvent(*error);
      return false;
    }
    if (include_usage_) {
      chunk += writer_.UsageEvent({visit_->record.prompt_tokens, call_.tokens()});
    }
    chunk += kDoneEvent;
    return false;
  }

 private:
  const std::shared_ptr<Visit> visit_;
  RunningCall call_;
  const ResponseWriter writer_;
  const std::size_t choices_;
  const bool include_usage_;
  std::size_t opened_ = 0;
};

std::variant<engine::ApiKey, ApiError> Endpoints::Authenticate(const HttpRequest& request) const {
  if (keys_ == nullptr) return engine::ApiKey{};
  constexpr std::string_view kScheme = "Bearer ";
  const std::string authorization = request.header("Authorization");
  ApiError error{.status = 401, .code = "invalid_api_key"};
  if (!authorization.starts_with(kScheme)) {
    error.message = "You did not provide an API key: send 'Authorization: Bearer KEY'.";
    return error;
  }
  auto key = keys_->Authenticate(std::string_view(authorization).substr(kScheme.size()));
  if (key.ok()) return *std::move(key);
  if (key.status().code() != base::StatusCode::kNotFound) return HttpError(500);
  error.message = "Incorrect API key provided.";
  return error;
}

// The key is looked up here, once a request: who waits for its body is admitted already.
std::optional<HttpResponse> Endpoints::Refuse(HttpRequest& head) {
  std::optional<ApiError> error;
  auto key = Authenticate(head);
  if (const auto* wrong_key = std::get_if<ApiError>(&key)) {
    error = *wrong_key;
  } else if (is_draining_) {
    error = HttpError(503);
  }
  if (!error) {
    head.admission = std::get<engine::ApiKey>(std::move(key));
    return std::nullopt;
  }
  return Visit(*this, head.path).Fail(*error);
}

HttpResponse Endpoints::Handle(const HttpRequest& request,
                               const std::function<bool()>& client_is_gone) {
  const std::string& path = request.path;
  if (path == kCompletionsPath || path == kChatPath) {
    if (request.method != "POST") return Error(405);
    return Complete(path == kChatPath ? Endpoint::kChat : Endpoint::kCompletions, request,
                    client_is_gone);
  }
  if (auto page = PageResponse(Page::kPlayground, request)) return *std::move(page);
  const bool is_models = path == kModelsPath || path.starts_with("/v1/models/");
  const bool is_metrics = path == "/metrics" && options_.metrics;
  if (!is_models && !is_metrics && path != "/healthz" && path != "/readyz") return Error(404);
  if (request.method != "GET" && request.method != "HEAD") return Error(405);
  if (is_models) return Models(request);
  if (path == "/readyz") return Ready();
  if (path == "/healthz") return {.body = R"({"status":"ok"})"};
  return {.content_type = std::string(kMetricsType),
          .body = MetricsText(scheduler_.counters(), answers_)};
}

HttpResponse Endpoints::Models(const HttpRequest& request) const {
  const auto key = Authenticate(request);
  if (const auto* error = std::get_if<ApiError>(&key)) return ErrorResponse(*error);
  if (request.path == kModelsPath) return {.body = ModelListBody(options_.model, options_.created)};
  if (request.path.substr(kModelsPath.size() + 1) != options_.model) {
    return ErrorResponse(WrongModel(options_.model));
  }
  return {.body = ModelBody(options_.model, options_.created)};
}

HttpResponse Endpoints::Ready() const {
  if (is_draining_ || !scheduler_.health().ok()) {
    return {.status = 503, .body = R"({"status":"not ready"})"};
  }
  return {.body = R"({"status":"ready"})"};
}

HttpResponse Endpoints::Complete(Endpoint endpoint, const HttpRequest& request,
                                 const std::function<bool()>& client_is_gone) {
  const auto visit = std::make_shared<Visit>(*this, request.path);
  const auto* const key = std::any_cast<engine::ApiKey>(&request.admission);
  SUBMIX_CHECK(key != nullptr, "who posts a body has been admitted");
  visit->record.key = key->id;
  const auto parsed = ParseCall(endpoint, request.body, options_.parse);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return visit->Fail(*error);
  const auto& call = std::get<CompletionCall>(parsed);
  auto submissions = Submissions(call, request, *key, visit->record);
  if (const auto* error = std::get_if<ApiError>(&submissions)) return visit->Fail(*error);
  const std::size_t choices = std::get<0>(submissions).size();
  auto running = RunningCall::Start(scheduler_, std::get<0>(std::move(submissions)));
  if (!running.ok()) return visit->Fail(RefusalError(running.status()));

  const ResponseWriter writer(endpoint, visit->record.id, std::time(nullptr), options_.model,
                              call.include_usage);
  if (!call.stream) return Whole(*visit, *std::move(running), writer, choices, client_is_gone);
  HttpResponse response{.content_type = "text/event-stream"};
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("X-Accel-Buffering", "no");  // proxies must not collect events
  const auto stream =
      std::make_shared<Stream>(visit, *std::move(running), writer, choices, call.include_usage);
  response.stream = [stream](std::string& chunk) { return stream->Next(chunk); };
  return response;
}

HttpResponse Endpoints::Whole(Visit& visit, RunningCall call, const ResponseWriter& writer,
                              std::size_t choices, const std::function<bool()>& client_is_gone) {
  std::vector<Choice> whole(choices);
  for (std::size_t i = 0; i < choices; ++i) whole[i].index = static_cast<int>(i);
  while (!call.ended()) {
    for (const Choice& piece : call.Next(kPatience)) {
      Choice& choice = whole[static_cast<std::size_t>(piece.index)];
      choice.text += piece.text;
      choice.finish_reason = piece.finish_reason;
    }
    visit.record.completion_tokens = call.tokens();
    if (client_is_gone()) return visit.Fail({.status = kHungUp});
  }
  if (const auto error = call.error()) return visit.Fail(*error);
  return {.body = writer.Whole(whole, {visit.record.prompt_tokens, call.tokens()})};
}

std::variant<std::vector<engine::Submission>, ApiError> Endpoints::Submissions(
    const CompletionCall& call, const HttpRequest& request, const engine::ApiKey& key,
    RequestRecord& record) const {
  if (call.model != options_.model) return WrongModel(options_.model);
  engine::Submission submission;
  submission.key = key.id;
  submission.quotas = key.quotas;
  submission.may_use_cache =
      call.n == 1 && request.header("Cache-Control").find("no-cache") == std::string::npos;
  if (options_.request_time.count() > 0) {
    submission.deadline = steady_clock::now() + options_.request_time;
  }
  std::vector<engine::Submission> submissions;
  for (const Prompt& prompt : call.prompts) {
    submission.request = call.settings;
    const auto* text = std::get_if<std::string>(&prompt);
    if (text != nullptr) {
      if (auto error = CheckLength(call, *text)) return *std::move(error);
    }
    submission.request.prompt =
        text != nullptr ? scheduler_.Encode(*text) : std::get<std::vector<base::TokenId>>(prompt);
    if (auto error = SetLength(call, submission.request)) return *std::move(error);
    record.prompt_tokens += static_cast<std::int64_t>(submission.request.prompt.size());
    submissions.insert(submissions.end(), static_cast<std::size_t>(call.n), submission);
  }
  return submissions;
}

ApiError ContextError(const CompletionCall& call, const std::string& message) {
  return {.message = message,
          .param = call.endpoint == Endpoint::kChat ? "messages" : "prompt",
          .code = "context_length_exceeded"};
}

// Before the text is encoded, which takes time and memory.
std::optional<ApiError> Endpoints::CheckLength(const CompletionCall& call,
                                               const std::string& prompt) const {
  if (prompt.size() <= scheduler_.longest_prompt_bytes()) return std::nullopt;
  return ContextError(call, "This model's maximum context length is " +
                                std::to_string(scheduler_.context_length()) +
                                " tokens, and the prompt's " + std::to_string(prompt.size()) +
                                " bytes are more tokens than that.");
}

// Without max_tokens: OpenAI's 16 for completions, an option for chats, as far as the context goes.
std::optional<ApiError> Endpoints::SetLength(const CompletionCall& call,
                                             engine::Request& request) const {
  const std::int64_t context = scheduler_.context_length();
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (!call.has_max_tokens) {
    if (call.endpoint == Endpoint::kChat) request.max_tokens = options_.chat_max_tokens;
    request.max_tokens = static_cast<int>(
        std::min<std::int64_t>(request.max_tokens, std::max<std::int64_t>(context - prompt, 1)));
  }
  if (prompt + request.max_tokens <= context) return std::nullopt;
  return ContextError(call, "This model's maximum context length is " + std::to_string(context) +
                                " tokens, but you asked for " +
                                std::to_string(prompt + request.max_tokens) + ": " +
                                std::to_string(prompt) + " in the prompt, " +
                                std::to_string(request.max_tokens) + " for the completion.");
}

class ListeningServer final : public HttpServer {
 public:
  ListeningServer(const HttpServerOptions& options, engine::Scheduler& scheduler,
                  const engine::ApiKeys* keys)
      : options_(options), scheduler_(scheduler), endpoints_(options_, scheduler, keys) {}

  base::Status Start() {
    SUBMIX_ASSIGN_OR_RETURN(listener_, Listener::Start(options_.listener, endpoints_));
    return base::OkStatus();
  }
  int port() const override { return listener_->port(); }
  void Stop(steady_clock::time_point deadline) override {
    endpoints_.StartDraining();
    scheduler_.Drain(deadline);
    endpoints_.open_requests().WaitUntilNone(
        std::max(deadline, steady_clock::now() + kFlushPatience));
    listener_->Stop();
  }

 private:
  const HttpServerOptions options_;
  engine::Scheduler& scheduler_;
  Endpoints endpoints_;
  std::unique_ptr<Listener> listener_;  // last: its threads use what is above
};

}  // namespace

base::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              engine::Scheduler& scheduler,
                                                              const engine::ApiKeys* keys) {
  auto server = std::make_unique<ListeningServer>(options, scheduler, keys);
  SUBMIX_RETURN_IF_ERROR(server->Start());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace submix::server

#include "submix/server/http_server.h"

#include <ctime>
#include <utility>

#include "submix/base/check.h"
#include "submix/server/admission.h"
#include "submix/server/completion_answer.h"
#include "submix/server/error_response.h"
#include "submix/server/openai_response.h"
#include "submix/server/page_files.h"

namespace submix::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kCompletionsPath = "/v1/completions";
constexpr std::string_view kChatPath = "/v1/chat/completions";
constexpr std::string_view kModelsPath = "/v1/models";
constexpr milliseconds kFlushPatience{2'000};  // for the last bytes, after the last token

bool IsOfCompletions(const HttpRequest& request) {
  return request.path == kCompletionsPath || request.path == kChatPath;
}
bool IsCompletion(const HttpRequest& request) {
  return request.method == "POST" && IsOfCompletions(request);
}
bool IsProbe(const HttpRequest& request) {
  return request.path == "/readyz" || request.path == "/healthz";
}

ApiError WrongModel(const std::string& served) {
  return {.status = 404,
          .message = "The model does not exist here: this server has '" + served + "'.",
          .param = "model",
          .code = "model_not_found"};
}

ApiError ShapeError(const std::string& param, const base::Status& status) {
  return {.message = "'" + param + "': " + status.message() + ".", .param = param};
}

ApiError ContextError(const CompletionCall& call, const std::string& message) {
  return {.message = message,
          .param = call.endpoint == Endpoint::kChat ? "messages" : "prompt",
          .code = "context_length_exceeded"};
}

// Of a text that becomes no prompt.
ApiError PromptError(const base::Status& status, const char* param) {
  if (status.code() == base::StatusCode::kInternal) return HttpError(500);
  return {.message = status.message(), .param = param};
}

// What is left to the server, set: a quarter of the connections is for clients that have shown a
// key.
HttpServerOptions Completed(HttpServerOptions options, const engine::ApiKeys* keys) {
  if (keys != nullptr) options.listener.kept_for_keys = options.listener.connections / 4;
  options.allowed_hosts.push_back(options.listener.host);
  return options;
}

}  // namespace

HttpServer::HttpServer(const HttpServerOptions& options, engine::Scheduler& scheduler,
                       const engine::ApiKeys* keys)
    : options_(Completed(options, keys)), scheduler_(scheduler), keys_(keys) {}

base::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(const HttpServerOptions& options,
                                                              engine::Scheduler& scheduler,
                                                              const engine::ApiKeys* keys) {
  SUBMIX_CHECK(options.chat_format != nullptr, "how conversations are written must be said");
  std::unique_ptr<HttpServer> server(new HttpServer(options, scheduler, keys));
  SUBMIX_ASSIGN_OR_RETURN(server->listener_, Listener::Start(server->options_.listener, *server));
  return server;
}

void HttpServer::Stop(steady_clock::time_point deadline) {
  is_draining_ = true;
  scheduler_.Drain(deadline);
  open_requests_.WaitUntilNone(std::max(deadline, steady_clock::now() + kFlushPatience));
  listener_->Stop();
}

std::unique_ptr<RequestVisit> HttpServer::Arrive(const HttpRequest& request) {
  open_requests_.Enter();
  auto visit = std::make_unique<RequestVisit>(request.path, [this](const RequestRecord& record) {
    answers_.Add(record.status);
    if (options_.on_request) options_.on_request(record);
    open_requests_.Leave();
  });
  visit->record.key = request.key;
  return visit;
}

bool HttpServer::TakesBody(const HttpRequest& head) const { return IsCompletion(head); }

bool HttpServer::TakesLong(const HttpRequest& request) const { return IsCompletion(request); }

HttpResponse HttpServer::Error(int status, const HttpRequest& head) {
  return Fail(HttpError(status), head);
}

HttpResponse HttpServer::Fail(const ApiError& error, const HttpRequest& request) {
  return IsOfCompletions(request) ? Arrive(request)->Fail(error) : ErrorResponse(error);
}

HttpResponse HttpServer::MethodError(const char* allowed, const HttpRequest& request) {
  HttpResponse response = Error(405, request);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

// The key is looked up here, once a request: who waits for its body is admitted already.
std::optional<ApiError> HttpServer::WhyRefused(HttpRequest& head) const {
  if (IsProbe(head)) return std::nullopt;
  if (keys_ == nullptr) {
    if (auto error = CheckHost(head, options_.allowed_hosts)) return error;
  }
  const bool is_models =
      head.path.starts_with(kModelsPath) && (head.method == "GET" || head.method == "HEAD");
  if (!IsCompletion(head) && !is_models) return std::nullopt;
  auto key = Authenticate(keys_, head);
  if (auto* wrong_key = std::get_if<ApiError>(&key)) return std::move(*wrong_key);
  if (keys_ != nullptr) head.standing = Standing::kKeyHolder;
  head.key = std::get<engine::ApiKey>(key).id;
  head.admission = std::get<engine::ApiKey>(std::move(key));
  if (is_models) return std::nullopt;
  if (is_draining_) return HttpError(503);
  return CheckMediaType(head, /*must_be_named=*/keys_ == nullptr);
}

std::optional<HttpResponse> HttpServer::Refuse(HttpRequest& head) {
  if (IsProbe(head)) head.standing = Standing::kProbe;
  const auto error = WhyRefused(head);
  if (!error) return std::nullopt;
  return Fail(*error, head);
}

HttpResponse HttpServer::Handle(const HttpRequest& request) {
  const std::string& path = request.path;
  if (IsCompletion(request)) {
    return Complete(path == kChatPath ? Endpoint::kChat : Endpoint::kCompletions, request);
  }
  if (auto page = PageResponse(Page::kPlayground, request)) return *std::move(page);
  const bool is_models = path == kModelsPath || path.starts_with("/v1/models/");
  const bool is_metrics = path == "/metrics" && options_.metrics;
  if (IsOfCompletions(request)) return MethodError("POST", request);
  if (!is_models && !is_metrics && !IsProbe(request)) return Error(404, request);
  if (request.method != "GET" && request.method != "HEAD") return MethodError("GET, HEAD", request);
  if (is_models) return Models(request);
  if (path == "/readyz") return Ready();
  if (path == "/healthz") return {.body = R"({"status":"ok"})"};
  return {.content_type = std::string(kMetricsType),
          .body = MetricsText(scheduler_.counters(), answers_)};
}

HttpResponse HttpServer::Models(const HttpRequest& request) const {
  if (request.path == kModelsPath) return {.body = ModelListBody(options_.model, options_.created)};
  if (request.path.substr(kModelsPath.size() + 1) != options_.model) {
    return ErrorResponse(WrongModel(options_.model));
  }
  return {.body = ModelBody(options_.model, options_.created)};
}

HttpResponse HttpServer::Ready() const {
  if (is_draining_ || !scheduler_.health().ok()) {
    return {.status = 503, .body = R"({"status":"not ready"})"};
  }
  return {.body = R"({"status":"ready"})"};
}

HttpResponse HttpServer::Complete(Endpoint endpoint, const HttpRequest& request) {
  auto visit = Arrive(request);
  const auto* const key = std::any_cast<engine::ApiKey>(&request.admission);
  SUBMIX_CHECK(key != nullptr, "who posts a body has been admitted");
  const auto parsed = ParseCall(endpoint, request.body, options_.parse);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return visit->Fail(*error);
  const auto& call = std::get<CompletionCall>(parsed);
  auto submissions = Submissions(call, request, *key, visit->record);
  if (const auto* error = std::get_if<ApiError>(&submissions)) return visit->Fail(*error);
  auto completions = scheduler_.Submit(std::get<0>(std::move(submissions)));
  if (!completions.ok()) return visit->Fail(RefusalError(completions.status()));

  ResponseWriter writer(endpoint, visit->record.id, std::time(nullptr), options_.model,
                        call.include_usage);
  AnsweredCall answered{std::move(visit), *std::move(completions), std::move(writer)};
  return call.stream ? StreamedAnswer(std::move(answered)) : WholeAnswer(std::move(answered));
}

std::variant<std::vector<engine::Submission>, ApiError> HttpServer::Submissions(
    const CompletionCall& call, const HttpRequest& request, const engine::ApiKey& key,
    RequestRecord& record) const {
  if (call.model != options_.model) return WrongModel(options_.model);
  engine::Submission submission;
  submission.key = key.id;
  submission.quotas = key.quotas;
  submission.may_use_cache =
      call.n == 1 && request.header("cache-control").find("no-cache") == std::string::npos;
  if (options_.request_time.count() > 0) {
    submission.deadline = steady_clock::now() + options_.request_time;
  }
  std::shared_ptr<const shape::TokenAutomaton> shape;
  if (call.shape) {
    auto compiled = scheduler_.CompileShape(call.shape->request);
    if (!compiled.ok()) return ShapeError(call.shape->param, compiled.status());
    shape = *std::move(compiled);
  }
  std::vector<engine::Submission> submissions;
  for (const Prompt& prompt : call.prompts) {
    submission.request = call.settings;
    if (auto error = SetPrompt(call, prompt, submission.request)) return *std::move(error);
    if (auto error = SetLength(call, submission.request)) return *std::move(error);
    submission.request.shape = shape;
    if (shape != nullptr && shape->TokensNeeded(shape->start()) > submission.request.max_tokens) {
      const base::Status status = scheduler_.Check(submission.request);
      return ShapeError("max_tokens", status);
    }
    record.prompt_tokens += static_cast<std::int64_t>(submission.request.prompt.size());
    submissions.insert(submissions.end(), static_cast<std::size_t>(call.n), submission);
  }
  return submissions;
}

// Token ids are taken as they are.
std::optional<ApiError> HttpServer::SetPrompt(const CompletionCall& call, const Prompt& prompt,
                                              engine::Request& request) const {
  if (const auto* tokens = std::get_if<std::vector<base::TokenId>>(&prompt)) {
    request.prompt = *tokens;
    return std::nullopt;
  }
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    if (auto error = CheckLength(call, text->size())) return error;
    auto tokens = scheduler_.tokenizer().EncodePrompt(*text);
    if (!tokens.ok()) return PromptError(tokens.status(), "prompt");
    request.prompt = *std::move(tokens);
    return std::nullopt;
  }
  const auto& conversation = std::get<Conversation>(prompt);
  std::size_t bytes = 0;
  for (const chat::ChatMessage& message : conversation) bytes += message.content.size();
  if (auto error = CheckLength(call, bytes)) return error;
  auto question = options_.chat_format->Ask(conversation, std::time(nullptr));
  if (!question.ok()) return PromptError(question.status(), "messages");
  request.prompt = std::move(question->prompt);
  if (question->end_token) request.end_tokens.push_back(*question->end_token);
  if (!question->stop.empty()) request.stop.push_back(std::move(question->stop));
  return std::nullopt;
}

// Before the text is encoded, which takes time and memory: a longer one has more tokens than the
// context holds, whatever it says.
std::optional<ApiError> HttpServer::CheckLength(const CompletionCall& call,
                                                std::size_t bytes) const {
  const std::size_t most_bytes = scheduler_.tokenizer().longest_token_bytes() *
                                 static_cast<std::size_t>(scheduler_.context_length());
  if (bytes <= most_bytes) return std::nullopt;
  return ContextError(call, "This model's maximum context length is " +
                                std::to_string(scheduler_.context_length()) +
                                " tokens, and the prompt's " + std::to_string(bytes) +
                                " bytes are more tokens than that.");
}

// Without max_tokens: OpenAI's 16 for completions, an option for chats, as far as the context goes.
std::optional<ApiError> HttpServer::SetLength(const CompletionCall& call,
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

}  // namespace submix::server

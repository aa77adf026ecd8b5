#include "submix/engine/engine_core.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/mechanism/supported_logits.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;
using Clock = std::chrono::steady_clock;

}  // namespace

EngineCore::EngineCore(const EngineParts& parts, std::unique_ptr<PrivateSampler> sampler)
    : parts_(parts),
      sampler_(std::move(sampler)),
      vocab_size_(static_cast<std::size_t>(parts.predictor->vocab_size())),
      rows_(1 + static_cast<std::size_t>(parts.predictor->num_members())),
      prefixes_(*parts.predictor, parts.prefix_tokens_per_key) {}

EngineCore::~EngineCore() {
  for (const LiveSequence& live : live_) parts_.predictor->Close(live.sequence);
}

StatusOr<std::unique_ptr<EngineCore>> EngineCore::Create(const EngineParts& parts) {
  SUBMIX_ASSIGN_OR_RETURN(auto sampler, PrivateSampler::Create({parts.mechanism, parts.ledger,
                                                                parts.random, parts.when_exhausted},
                                                               parts.predictor->num_members()));
  const int predicted = parts.predictor->vocab_size();
  if (predicted > parts.tokenizer->vocab_size() ||
      predicted <= parts.tokenizer->largest_text_token()) {
    return base::FailedPreconditionError("the tokenizer has " +
                                         std::to_string(parts.tokenizer->vocab_size()) +
                                         " entries, the model " + std::to_string(predicted) +
                                         ": the tokenizer does not belong to this model");
  }
  return std::unique_ptr<EngineCore>(new EngineCore(parts, std::move(sampler)));
}

Status EngineCore::Check(const Request& request) const {
  if (request.prompt.empty()) {
    return base::InvalidArgumentError("the prompt is empty: give at least one token");
  }
  if (request.max_tokens < 1) {
    return base::InvalidArgumentError("max_tokens is " + std::to_string(request.max_tokens) +
                                      ": expected at least 1");
  }
  const auto context = static_cast<std::size_t>(parts_.predictor->context_length());
  const std::size_t needed = request.prompt.size() + static_cast<std::size_t>(request.max_tokens);
  if (needed > context) {
    return base::InvalidArgumentError(
        "the prompt has " + std::to_string(request.prompt.size()) + " tokens and max_tokens is " +
        std::to_string(request.max_tokens) + ": together at most " + std::to_string(context) +
        " fit the model's context; shorten the prompt or ask for fewer tokens");
  }
  const base::TokenId vocab_size = parts_.predictor->vocab_size();
  const auto check_ids = [&](const std::vector<base::TokenId>& tokens, const char* what) {
    for (const base::TokenId token : tokens) {
      if (token >= 0 && token < vocab_size) continue;
      return base::InvalidArgumentError(std::string(what) + " the token id " +
                                        std::to_string(token) + ": expected at least 0 and below " +
                                        std::to_string(vocab_size));
    }
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(check_ids(request.prompt, "the prompt has"));
  SUBMIX_RETURN_IF_ERROR(check_ids(request.one_of, "the tokens to choose from have"));
  SUBMIX_CHECK(request.shape == nullptr || request.one_of.empty(), "a shape, or one of tokens");
  SUBMIX_CHECK(std::ranges::adjacent_find(request.one_of, std::ranges::greater_equal()) ==
                   request.one_of.end(),
               "tokens to choose from ascend");
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return base::InvalidArgumentError("a stop string is empty");
  }
  if (request.shape != nullptr && !ShapedAnswerOf(request).is_possible()) {
    const int tokens = std::max(1, request.shape->TokensNeeded(request.shape->start()));
    return base::InvalidArgumentError("max_tokens is " + std::to_string(request.max_tokens) +
                                      ": the shortest answer of this shape takes " +
                                      std::to_string(tokens) + " tokens");
  }
  return mechanism::CheckSamplingOptions(request.sampling, parts_.mechanism->log_ratio_range());
}

StatusOr<std::shared_ptr<const shape::TokenAutomaton>> EngineCore::CompileShape(
    const shape::ShapeRequest& request) const {
  std::call_once(shapes_made_, [this] {
    std::vector<std::string> texts(vocab_size_);
    for (std::size_t t = 0; t < texts.size(); ++t) {
      const auto token = static_cast<base::TokenId>(t);
      if (!EndsEvery(token)) texts[t] = parts_.tokenizer->TokenBytes(token);
    }
    shapes_ = std::make_unique<shape::Shapes>(std::make_shared<const shape::Vocabulary>(texts));
  });
  return shapes_->Compile(request);
}

StatusOr<std::int64_t> EngineCore::Admit(const Request& request, const std::string& key) {
  SUBMIX_RETURN_IF_ERROR(Check(request));
  const PrefixCache::Opened opened = prefixes_.Open(key, request.prompt, Clock::now());
  LiveSequence live;
  live.request_id = next_request_id_++;
  live.sequence = opened.sequence;
  live.request = request;
  live.key = key;
  live.pending.assign(request.prompt.begin() + opened.tokens, request.prompt.end());
  live.text = TextStream(request.stop);
  if (request.is_shaped()) live.shaped = ShapedAnswerOf(request);
  live_.push_back(std::move(live));
  return live_.back().request_id;
}

void EngineCore::Cancel(std::int64_t request_id) {
  std::erase_if(live_, [&](const LiveSequence& live) {
    if (live.request_id != request_id) return false;
    parts_.predictor->Close(live.sequence);
    return true;
  });
}

int EngineCore::PromptTokensLeft(std::int64_t request_id) const {
  const auto live = std::ranges::find(live_, request_id, &LiveSequence::request_id);
  SUBMIX_CHECK(live != live_.end() && live->tokens_released == 0, "a prompt that is entering");
  return static_cast<int>(live->pending.size());
}

void EngineCore::ShareOut(std::span<const StepShare> shares) {
  for (LiveSequence& live : live_) live.share = 0;
  for (const StepShare& share : shares) {
    const auto live = std::ranges::find(live_, share.request_id, &LiveSequence::request_id);
    SUBMIX_CHECK(live != live_.end() && live->share == 0 && share.tokens > 0 &&
                     share.tokens <= std::ssize(live->pending),
                 "a share beyond what the request has left");
    live->share = static_cast<std::size_t>(share.tokens);
  }
}

Status EngineCore::Predict() {
  std::vector<ensemble::Predictor::Append> appends;
  appends.reserve(live_.size());
  predicting_.clear();
  forced_.clear();
  for (LiveSequence& live : live_) {
    if (live.share == 0) continue;
    const bool gets_token = live.share == live.pending.size();
    if (gets_token && live.shaped) live.support = live.shaped->Support();
    const bool is_forced = gets_token && live.shaped && live.support.size() == 1;
    const bool predicts = gets_token && !is_forced;
    appends.push_back({live.sequence, std::span(live.pending).first(live.share), predicts});
    if (is_forced) forced_.push_back(&live);
    if (predicts) predicting_.push_back(&live);
  }
  logits_.resize(predicting_.size() * rows_ * vocab_size_);
  SUBMIX_RETURN_IF_ERROR(parts_.predictor->Step(appends, logits_));
  for (LiveSequence& live : live_) {
    if (live.share == live.pending.size()) {
      if (live.tokens_released == 0) {
        prefixes_.Keep(live.key, live.request.prompt, live.sequence, Clock::now());
      }
      continue;
    }
    live.pending.erase(live.pending.begin(),
                       live.pending.begin() + static_cast<std::ptrdiff_t>(live.share));
  }
  return base::OkStatus();
}

shape::ShapedAnswer EngineCore::ShapedAnswerOf(const Request& request) const {
  if (request.shape == nullptr) return shape::ShapedAnswer(request.one_of);
  std::vector<base::TokenId> ends = parts_.end_tokens;
  ends.insert(ends.end(), request.end_tokens.begin(), request.end_tokens.end());
  ends.push_back(parts_.tokenizer->end_of_text());
  std::erase_if(ends,
                [this](base::TokenId token) { return token >= parts_.predictor->vocab_size(); });
  return {request.shape, std::move(ends), request.max_tokens};
}

std::vector<Prediction> EngineCore::Predictions() {
  std::vector<Prediction> predictions;
  predictions.reserve(predicting_.size());
  for (std::size_t s = 0; s < predicting_.size(); ++s) {
    LiveSequence& live = *predicting_[s];
    auto logits =
        std::span<const float>(logits_).subspan(s * rows_ * vocab_size_, rows_ * vocab_size_);
    std::size_t tokens = vocab_size_;
    if (live.shaped) {
      // For the sampler the vocabulary is the support.
      tokens = live.support.size();
      mechanism::TakeColumns(logits, vocab_size_, live.support, live.supported_logits);
      logits = live.supported_logits;
    }
    predictions.push_back({logits.first(tokens), logits.subspan(tokens), live.request.sampling});
  }
  return predictions;
}

StatusOr<std::vector<TokenEvent>> EngineCore::Sample() {
  SUBMIX_ASSIGN_OR_RETURN(
      const auto tokens,
      sampler_->Sample(Predictions(), [this](int count, const std::function<void(int)>& body) {
        parts_.predictor->ForEach(count, body);
      }));
  std::vector<TokenEvent> events;
  events.reserve(tokens.size() + forced_.size());
  for (std::size_t s = 0; s < tokens.size(); ++s) {
    LiveSequence& live = *predicting_[s];
    if (!tokens[s].token) {
      events.push_back({live.request_id, {}, "", tokens[s].end});
      continue;
    }
    const auto token = static_cast<std::size_t>(*tokens[s].token);
    events.push_back(Accept(live, live.shaped ? live.support[token] : *tokens[s].token));
  }
  // The law of a forced token has one outcome, whoever is in the data: nothing is drawn, nothing
  // is charged.
  for (LiveSequence* live : forced_) events.push_back(Accept(*live, live->support.front()));
  return events;
}

bool EngineCore::EndsEvery(base::TokenId token) const {
  return token == parts_.tokenizer->end_of_text() ||
         std::ranges::find(parts_.end_tokens, token) != parts_.end_tokens.end();
}

bool EngineCore::Ends(const LiveSequence& live, base::TokenId token) const {
  const std::vector<base::TokenId>& ends = live.request.end_tokens;
  return EndsEvery(token) || std::ranges::find(ends, token) != ends.end();
}

TokenEvent EngineCore::Accept(LiveSequence& live, base::TokenId token) {
  live.pending.assign(1, token);
  ++live.tokens_released;
  TokenEvent event;
  event.request_id = live.request_id;
  event.token = token;
  const bool ends = Ends(live, token);
  if (!ends) event.text = live.text.Add(parts_.tokenizer->TokenBytes(token));
  if (live.shaped) live.shaped->Accept(token);
  if (ends || (live.shaped && live.shaped->is_complete()) || live.text.stopped()) {
    event.end = AnswerEnd::kStop;
  } else if (live.tokens_released == live.request.max_tokens) {
    event.end = AnswerEnd::kMaxTokens;
  }
  if (event.end != AnswerEnd::kNotYet) event.text += live.text.Flush();
  return event;
}

StatusOr<std::vector<TokenEvent>> EngineCore::Step() {
  std::vector<StepShare> shares;
  for (const LiveSequence& live : live_) {
    shares.push_back({live.request_id, static_cast<int>(live.pending.size())});
  }
  return Step(shares);
}

StatusOr<std::vector<TokenEvent>> EngineCore::Step(std::span<const StepShare> shares) {
  ShareOut(shares);
  SUBMIX_RETURN_IF_ERROR(Predict());
  SUBMIX_ASSIGN_OR_RETURN(std::vector<TokenEvent> events, Sample());
  for (const TokenEvent& event : events) {
    if (event.end != AnswerEnd::kNotYet) Cancel(event.request_id);
  }
  return events;
}

Status EngineCore::Recover() {
  SUBMIX_RETURN_IF_ERROR(parts_.predictor->Recover());
  return sampler_->Recover();
}

Status EngineCore::Generate(const Request& request,
                            const std::function<void(const TokenEvent&)>& on_event) {
  SUBMIX_CHECK(idle(), "Generate is for one request at a time");
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t request_id, Admit(request));
  while (!idle()) {
    auto events = Step();
    if (!events.ok()) {
      Cancel(request_id);
      return events.status();
    }
    for (const TokenEvent& event : *events) {
      if (!event.token) return StatusOf(event.end);
      on_event(event);
    }
  }
  return base::OkStatus();
}

}  // namespace submix::engine

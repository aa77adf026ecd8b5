#include "submix/engine/engine_core.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/engine/sample.h"

namespace submix::engine {
namespace {

using base::Status;
using base::StatusOr;

base::Status CheckRequest(const Request& request, const EngineParts& parts) {
  if (request.prompt.empty()) {
    return base::InvalidArgumentError("the prompt is empty: give at least one token");
  }
  if (request.max_tokens < 1) {
    return base::InvalidArgumentError("max_tokens is " + std::to_string(request.max_tokens) +
                                      ": expected at least 1");
  }
  const auto context = static_cast<std::size_t>(parts.predictor->context_length());
  const std::size_t needed = request.prompt.size() + static_cast<std::size_t>(request.max_tokens);
  if (needed > context) {
    return base::InvalidArgumentError(
        "the prompt has " + std::to_string(request.prompt.size()) + " tokens and max_tokens is " +
        std::to_string(request.max_tokens) + ": together at most " + std::to_string(context) +
        " fit the model's context; shorten the prompt or ask for fewer tokens");
  }
  const base::TokenId vocab_size = parts.predictor->vocab_size();
  for (const base::TokenId token : request.prompt) {
    if (token >= 0 && token < vocab_size) continue;
    return base::InvalidArgumentError("the prompt has the token id " + std::to_string(token) +
                                      ": expected at least 0 and below " +
                                      std::to_string(vocab_size));
  }
  for (const std::string& stop : request.stop) {
    if (stop.empty()) return base::InvalidArgumentError("a stop string is empty");
  }
  return mechanism::CheckSamplingOptions(request.sampling);
}

}  // namespace

EngineCore::EngineCore(const EngineParts& parts, int halves)
    : parts_(parts),
      halves_(halves),
      refuses_when_exhausted_(parts.when_exhausted == WhenExhausted::kRefuse &&
                              parts.mechanism->has_constant_charge()),
      session_(parts.random->NextUint64()) {}

EngineCore::~EngineCore() {
  for (const LiveSequence& live : live_) parts_.predictor->Close(live.sequence);
}

StatusOr<std::unique_ptr<EngineCore>> EngineCore::Create(const EngineParts& parts) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, parts.ledger->Remaining());
  const int num_parts = static_cast<int>(remaining.size());
  const int num_members = parts.predictor->num_members();
  if (num_parts == 0 || num_members % num_parts != 0 ||
      num_members / num_parts < parts.mechanism->halves()) {
    return base::FailedPreconditionError(
        "the mechanism " + std::string(parts.mechanism->name()) + " needs at least " +
        std::to_string(parts.mechanism->halves()) + " member(s) for each of " +
        std::to_string(num_parts) + " parts, the ensemble has " + std::to_string(num_members));
  }
  if (parts.predictor->vocab_size() != parts.tokenizer->vocab_size()) {
    return base::FailedPreconditionError(
        "the tokenizer has " + std::to_string(parts.tokenizer->vocab_size()) +
        " entries, the model " + std::to_string(parts.predictor->vocab_size()) +
        ": the tokenizer does not belong to this model");
  }
  return std::unique_ptr<EngineCore>(new EngineCore(parts, num_members / num_parts));
}

Status EngineCore::Check(const Request& request) const { return CheckRequest(request, parts_); }

StatusOr<std::int64_t> EngineCore::Admit(const Request& request) {
  SUBMIX_RETURN_IF_ERROR(Check(request));
  LiveSequence live;
  live.request_id = next_request_id_++;
  live.sequence = parts_.predictor->Open();
  live.request = request;
  live.pending = request.prompt;
  live.text = TextStream(request.stop);
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

void EngineCore::ShareOut(std::span<const PromptShare> shares) {
  for (LiveSequence& live : live_) live.share = live.tokens_released > 0 ? 1 : 0;
  for (const PromptShare& share : shares) {
    const auto live = std::ranges::find(live_, share.request_id, &LiveSequence::request_id);
    SUBMIX_CHECK(live != live_.end() && live->share == 0 && share.tokens > 0 &&
                     share.tokens <= std::ssize(live->pending),
                 "a share beyond the prompt");
    live->share = static_cast<std::size_t>(share.tokens);
  }
}

StatusOr<std::vector<TokenEvent>> EngineCore::Predict() {
  std::vector<ensemble::Predictor::Append> appends;
  appends.reserve(live_.size());
  predicting_.clear();
  for (LiveSequence& live : live_) {
    if (live.share == 0) continue;
    const bool predicts = live.share == live.pending.size();
    appends.push_back({live.sequence, std::span(live.pending).first(live.share), predicts});
    if (predicts) predicting_.push_back(&live);
  }
  const auto row = static_cast<std::size_t>(parts_.predictor->vocab_size());
  const std::size_t rows = 1 + static_cast<std::size_t>(parts_.predictor->num_members());
  logits_.resize(predicting_.size() * rows * row);
  SUBMIX_RETURN_IF_ERROR(parts_.predictor->Step(appends, logits_));
  for (LiveSequence& live : live_) {
    if (live.share == live.pending.size()) continue;
    live.pending.erase(live.pending.begin(),
                       live.pending.begin() + static_cast<std::ptrdiff_t>(live.share));
  }
  return Map();
}

StatusOr<std::vector<TokenEvent>> EngineCore::Map() {
  const auto row = static_cast<std::size_t>(parts_.predictor->vocab_size());
  const std::size_t rows = 1 + static_cast<std::size_t>(parts_.predictor->num_members());
  if (mapped_.size() < predicting_.size()) mapped_.resize(predicting_.size());
  std::vector<Status> statuses(predicting_.size());
  parts_.predictor->ForEach(static_cast<int>(predicting_.size()), [&](int i) {
    const auto s = static_cast<std::size_t>(i);
    const std::span<const float> all = std::span(logits_).subspan(s * rows * row, rows * row);
    statuses[s] =
        mapped_[s].Map(all.first(row), all.subspan(row), halves_, predicting_[s]->request.sampling);
  });
  std::vector<TokenEvent> without_prediction;
  std::size_t kept = 0;
  for (std::size_t s = 0; s < predicting_.size(); ++s) {
    if (statuses[s].code() == base::StatusCode::kInternal) {
      without_prediction.push_back(EventWithoutToken(*predicting_[s], FinishReason::kNoPrediction));
      continue;
    }
    SUBMIX_RETURN_IF_ERROR(statuses[s]);
    if (kept != s) std::swap(mapped_[kept], mapped_[s]);
    predicting_[kept++] = predicting_[s];
  }
  predicting_.resize(kept);
  return without_prediction;
}

StatusOr<std::vector<std::unique_ptr<mechanism::Proposal>>> EngineCore::Propose() {
  // Each part's own remaining budget may steer that part alone (Theorem 1). Tokens of one step
  // see the budgets of its start; whether a part can pay for all of them is decided at the charge.
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, parts_.ledger->Remaining());
  const std::uint64_t first = releases_ + 1;
  releases_ += predicting_.size();
  std::vector<std::unique_ptr<mechanism::Proposal>> proposals(predicting_.size());
  std::vector<Status> statuses(predicting_.size());
  parts_.predictor->ForEach(static_cast<int>(predicting_.size()), [&](int i) {
    const auto s = static_cast<std::size_t>(i);
    auto proposal = parts_.mechanism->Propose(mapped_[s].view(), remaining,
                                              base::ReleaseId{session_, first + s});
    if (proposal.ok()) {
      proposals[s] = *std::move(proposal);
    } else {
      statuses[s] = proposal.status();
    }
  });
  for (const Status& status : statuses) SUBMIX_RETURN_IF_ERROR(status);
  return proposals;
}

StatusOr<std::vector<ledger::Receipt>> EngineCore::Charge(
    const std::vector<std::unique_ptr<mechanism::Proposal>>& proposals) {
  std::vector<ledger::ChargeRequest> step;
  step.reserve(proposals.size());
  for (const auto& proposal : proposals) {
    step.push_back({proposal->release_id(), parts_.mechanism->charge_rule(), proposal->charges()});
  }
  return parts_.ledger->Charge(step);
}

Status EngineCore::OpenScreens(std::vector<std::unique_ptr<mechanism::Proposal>>& proposals,
                               std::vector<ledger::Receipt>& receipts) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, parts_.ledger->Remaining());
  for (std::size_t s = 0; s < proposals.size(); ++s) {
    mechanism::PrivateScreen screen = std::move(*proposals[s]).Screen(receipts[s].paid());
    SUBMIX_ASSIGN_OR_RETURN(proposals[s],
                            OpenScreen(std::move(screen), std::move(receipts[s]), *parts_.random,
                                       remaining, base::ReleaseId{session_, ++releases_}));
  }
  return base::OkStatus();
}

// All accounts have paid the same constants, so they come to their end together.
bool EngineCore::IsExhausted(const ledger::Receipt& receipt) const {
  const std::vector<bool>& paid = receipt.paid();
  return refuses_when_exhausted_ && std::find(paid.begin(), paid.end(), true) == paid.end();
}

StatusOr<TokenEvent> EngineCore::Release(std::size_t s,
                                         std::unique_ptr<mechanism::Proposal> proposal,
                                         ledger::Receipt receipt) {
  if (IsExhausted(receipt)) return EventWithoutToken(*predicting_[s], FinishReason::kExhausted);
  mechanism::PrivateMixture mixture = std::move(*proposal).Mix(receipt.paid(), *parts_.random);
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t index,
                          Sample(std::move(mixture), std::move(receipt), *parts_.random));
  return Accept(*predicting_[s], mapped_[s].token(index));
}

TokenEvent EngineCore::EventWithoutToken(const LiveSequence& live, FinishReason reason) {
  TokenEvent event;
  event.request_id = live.request_id;
  event.finish_reason = reason;
  return event;
}

TokenEvent EngineCore::Accept(LiveSequence& live, base::TokenId token) {
  live.pending.assign(1, token);
  ++live.tokens_released;
  TokenEvent event;
  event.request_id = live.request_id;
  event.token = token;
  event.text = live.text.Add(parts_.tokenizer->TokenBytes(token));
  if (live.text.stopped() || token == parts_.tokenizer->end_of_text()) {
    event.finish_reason = FinishReason::kStop;
  } else if (live.tokens_released == live.request.max_tokens) {
    event.finish_reason = FinishReason::kMaxTokens;
  }
  if (event.finish_reason != FinishReason::kNone) event.text += live.text.Flush();
  return event;
}

StatusOr<std::vector<TokenEvent>> EngineCore::Step() {
  std::vector<PromptShare> shares;
  for (const LiveSequence& live : live_) {
    if (live.tokens_released > 0) continue;
    shares.push_back({live.request_id, static_cast<int>(live.pending.size())});
  }
  return Step(shares);
}

StatusOr<std::vector<TokenEvent>> EngineCore::Step(std::span<const PromptShare> shares) {
  ShareOut(shares);
  SUBMIX_ASSIGN_OR_RETURN(std::vector<TokenEvent> events, Predict());
  if (!predicting_.empty()) SUBMIX_RETURN_IF_ERROR(ChargeAndRelease(events));
  for (const TokenEvent& event : events) {
    if (event.finish_reason != FinishReason::kNone) Cancel(event.request_id);
  }
  return events;
}

Status EngineCore::ChargeAndRelease(std::vector<TokenEvent>& events) {
  SUBMIX_ASSIGN_OR_RETURN(auto proposals, Propose());
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, Charge(proposals));
  if (proposals.front()->leads_to_screen()) {
    SUBMIX_RETURN_IF_ERROR(OpenScreens(proposals, receipts));
    SUBMIX_ASSIGN_OR_RETURN(receipts, Charge(proposals));
  }
  for (std::size_t s = 0; s < predicting_.size(); ++s) {
    SUBMIX_ASSIGN_OR_RETURN(TokenEvent event,
                            Release(s, std::move(proposals[s]), std::move(receipts[s])));
    events.push_back(std::move(event));
  }
  return base::OkStatus();
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
      if (event.finish_reason == FinishReason::kExhausted) return ExhaustedError();
      if (event.finish_reason == FinishReason::kNoPrediction) return NoPredictionError();
      on_event(event);
    }
  }
  return base::OkStatus();
}

Status NoPredictionError() {
  return base::InternalError("the public model has no finite numbers for this prompt");
}

}  // namespace submix::engine

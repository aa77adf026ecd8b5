#include "submix/engine/private_sampler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "submix/engine/sample.h"

namespace submix::engine {

using base::Status;
using base::StatusOr;

namespace {

// From so many on threads take whole sequences, and wait less for each other.
constexpr std::size_t kManySequences = 8;

}  // namespace

PrivateSampler::PrivateSampler(const SamplerParts& parts, int num_members, int halves)
    : parts_(parts),
      num_members_(static_cast<std::size_t>(num_members)),
      halves_(halves),
      refuses_when_exhausted_(parts.when_exhausted == WhenExhausted::kRefuse &&
                              parts.mechanism->has_constant_charge()),
      session_(parts.random->NextUint64()) {}

StatusOr<std::unique_ptr<PrivateSampler>> PrivateSampler::Create(const SamplerParts& parts,
                                                                 int num_members) {
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, parts.ledger->Remaining());
  const int num_parts = static_cast<int>(remaining.size());
  if (num_parts == 0 || num_members % num_parts != 0 ||
      num_members / num_parts < parts.mechanism->halves()) {
    return base::FailedPreconditionError(
        "the mechanism " + std::string(parts.mechanism->name()) + " needs members for each of " +
        std::to_string(num_parts) + " parts, at least " +
        std::to_string(parts.mechanism->halves()) + " a part; the ensemble has " +
        std::to_string(num_members));
  }
  return std::unique_ptr<PrivateSampler>(
      new PrivateSampler(parts, num_members, num_members / num_parts));
}

StatusOr<std::vector<SampledToken>> PrivateSampler::Sample(std::span<const Prediction> predictions,
                                                           const base::ForEach& for_each) {
  const bool are_many = predictions.size() >= kManySequences;
  const Division division{are_many ? for_each : base::kInTurn, are_many ? base::kInTurn : for_each};
  SUBMIX_RETURN_IF_ERROR(Map(predictions, division));
  std::vector<SampledToken> tokens(predictions.size());
  if (predicted_.empty()) return tokens;
  // Two processes that draw the same numbers would show what their mixtures differ by.
  parts_.random->Rekey();
  SUBMIX_ASSIGN_OR_RETURN(Proposals proposals, Propose(division));
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, Charge(proposals));
  if (proposals.front()->leads_to_screen()) {
    SUBMIX_RETURN_IF_ERROR(OpenScreens(proposals, receipts));
    SUBMIX_ASSIGN_OR_RETURN(receipts, Charge(proposals));
  }
  for (std::size_t i = 0; i < predicted_.size(); ++i) {
    SUBMIX_ASSIGN_OR_RETURN(
        tokens[predicted_[i]],
        Release(mapped_[predicted_[i]], std::move(proposals[i]), std::move(receipts[i])));
  }
  return tokens;
}

Status PrivateSampler::Map(std::span<const Prediction> predictions, const Division& division) {
  for (const Prediction& prediction : predictions) {
    if (prediction.member_logits.size() == num_members_ * prediction.public_logits.size()) continue;
    return base::InvalidArgumentError(
        std::to_string(prediction.member_logits.size()) + " logits of members beside " +
        std::to_string(prediction.public_logits.size()) + " of the public model: expected " +
        std::to_string(num_members_) + " rows as long as its own");
  }
  if (mapped_.size() < predictions.size()) mapped_.resize(predictions.size());
  std::vector<Status> statuses(predictions.size());
  division.of_sequences(static_cast<int>(predictions.size()), [&](int i) {
    const auto s = static_cast<std::size_t>(i);
    statuses[s] = mapped_[s].Map(predictions[s].public_logits, predictions[s].member_logits,
                                 halves_, predictions[s].sampling,
                                 parts_.mechanism->log_ratio_range(), division.of_one);
  });
  // A sequence of which the public model says nothing has no token; the others are not concerned.
  predicted_.clear();
  for (std::size_t s = 0; s < predictions.size(); ++s) {
    if (!mapped_[s].has_public_law()) continue;
    SUBMIX_RETURN_IF_ERROR(statuses[s]);
    predicted_.push_back(s);
  }
  return base::OkStatus();
}

StatusOr<PrivateSampler::Proposals> PrivateSampler::Propose(const Division& division) {
  // Each part's own remaining budget may steer that part alone (Theorem 1). Tokens of one step
  // see the budgets of its start; whether a part can pay for all of them is decided at the charge.
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, parts_.ledger->Remaining());
  const std::uint64_t first = releases_ + 1;
  releases_ += predicted_.size();
  Proposals proposals(predicted_.size());
  std::vector<Status> statuses(predicted_.size());
  division.of_sequences(static_cast<int>(predicted_.size()), [&](int i) {
    const auto s = static_cast<std::size_t>(i);
    auto proposal = parts_.mechanism->Propose(mapped_[predicted_[s]].view(division.of_one),
                                              remaining, base::ReleaseId{session_, first + s});
    if (proposal.ok()) {
      proposals[s] = *std::move(proposal);
    } else {
      statuses[s] = proposal.status();
    }
  });
  for (const Status& status : statuses) SUBMIX_RETURN_IF_ERROR(status);
  return proposals;
}

StatusOr<std::vector<ledger::Receipt>> PrivateSampler::Charge(const Proposals& proposals) {
  std::vector<ledger::ChargeRequest> step;
  step.reserve(proposals.size());
  for (const auto& proposal : proposals) {
    step.push_back({proposal->release_id(), parts_.mechanism->charge_rule(), proposal->charges()});
  }
  return parts_.ledger->Charge(step);
}

Status PrivateSampler::OpenScreens(Proposals& proposals, std::vector<ledger::Receipt>& receipts) {
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
bool PrivateSampler::IsExhausted(const ledger::Receipt& receipt) const {
  const std::vector<bool>& paid = receipt.paid();
  return refuses_when_exhausted_ && std::find(paid.begin(), paid.end(), true) == paid.end();
}

StatusOr<SampledToken> PrivateSampler::Release(const mechanism::MappedPredictions& mapped,
                                               std::unique_ptr<mechanism::Proposal> proposal,
                                               ledger::Receipt receipt) {
  if (IsExhausted(receipt)) return SampledToken{AnswerEnd::kExhausted};
  mechanism::PrivateMixture mixture = std::move(*proposal).Mix(receipt.paid(), *parts_.random);
  SUBMIX_ASSIGN_OR_RETURN(const std::size_t index,
                          engine::Sample(std::move(mixture), std::move(receipt), *parts_.random));
  return SampledToken{AnswerEnd::kNotYet, mapped.token(index)};
}

}  // namespace submix::engine

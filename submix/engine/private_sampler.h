// From the logits of the public model and of all members, whoever computed them, to tokens: public
// maps → proposals → one durable charge for the whole step → mixtures of the parts that paid →
// Sample against the receipts. It knows no language model and no text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "submix/base/for_each.h"
#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/answer_end.h"
#include "submix/engine/exhaustion.h"
#include "submix/ledger/ledger.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/mechanism.h"

namespace submix::engine {

// All must outlive the sampler.
struct SamplerParts {
  const mechanism::Mechanism* mechanism = nullptr;
  ledger::Ledger* ledger = nullptr;
  base::RandomSource* random = nullptr;
  // As the deployment declares; heeded if the mechanism's charge is constant.
  WhenExhausted when_exhausted = WhenExhausted::kPublic;
};

// Of one sequence. M members in the order of their parts, those of a part side by side.
struct Prediction {
  std::span<const float> public_logits;  // [V]
  std::span<const float> member_logits;  // [M, V]
  mechanism::SamplingOptions sampling;   // public
};

struct SampledToken {
  AnswerEnd end = AnswerEnd::kNoPrediction;  // kExhausted, or kNotYet of a token
  std::optional<base::TokenId> token = {};
};

// One thread at a time.
class PrivateSampler {
 public:
  // Errors: kFailedPrecondition if the members are not the same number for each of the ledger's
  // parts, or fewer than the mechanism needs.
  static base::StatusOr<std::unique_ptr<PrivateSampler>> Create(const SamplerParts& parts,
                                                                int num_members);

  // A token for each prediction: all paid for in one ledger transaction, two with a mechanism that
  // screens. A member whose logits are not finite makes its part silent. Errors: kInvalidArgument
  // for sizes that do not fit and options out of range, before anything is charged; the ledger's,
  // after which charges that were booked stay booked and no token is given. `for_each` divides the
  // sequences where these are many, else what is to be done for each.
  base::StatusOr<std::vector<SampledToken>> Sample(std::span<const Prediction> predictions,
                                                   const base::ForEach& for_each = base::kInTurn);

  // After a failed Sample: Ledger::Recover. Errors: its.
  base::Status Recover() { return parts_.ledger->Recover(); }

 private:
  using Proposals = std::vector<std::unique_ptr<mechanism::Proposal>>;
  struct Division {
    const base::ForEach& of_sequences;
    const base::ForEach& of_one;  // its parts or tokens
  };

  PrivateSampler(const SamplerParts& parts, int num_members, int halves);

  // Into mapped_ and predicted_.
  base::Status Map(std::span<const Prediction> predictions, const Division& division);
  base::StatusOr<Proposals> Propose(const Division& division);
  base::StatusOr<std::vector<ledger::Receipt>> Charge(const Proposals& proposals);
  // Replaces every proposal of a screen by the proposal of its token.
  base::Status OpenScreens(Proposals& proposals, std::vector<ledger::Receipt>& receipts);
  bool IsExhausted(const ledger::Receipt& receipt) const;
  base::StatusOr<SampledToken> Release(const mechanism::MappedPredictions& mapped,
                                       std::unique_ptr<mechanism::Proposal> proposal,
                                       ledger::Receipt receipt);

  const SamplerParts parts_;
  const std::size_t num_members_;
  const int halves_;  // members a part
  const bool refuses_when_exhausted_;
  const std::uint64_t session_;
  std::uint64_t releases_ = 0;
  std::vector<mechanism::MappedPredictions> mapped_;  // of each prediction
  std::vector<std::size_t> predicted_;                // those that can be mapped
};

}  // namespace submix::engine

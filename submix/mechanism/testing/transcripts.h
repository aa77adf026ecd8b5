// Whole conversations, every possible transcript enumerated: what a guarantee claims is checked by
// the divergence of the transcripts' laws, with the real mechanism and the ledgers' own filter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "submix/accounting/charge_accounts.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/operator_view.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {

using Accounts = std::vector<accounting::IndividualFilter>;  // [K]
using History = std::vector<std::size_t>;                    // token indices, in order of release
// What the public model and every part predict after a history: an adaptive adversary's queries.
using Policy = std::function<SimulatedPredictions(const History&)>;

// One way in which a token can come about: what it left in the accounts, and the token's law.
struct Branch {
  double probability = 1;
  Accounts accounts;
  Pmf law;
};
// All the ways in which one token can come about, given the budgets of the step's start (what a
// proposal may look at) and the accounts as they are at the charge. Probabilities sum to 1.
using Answerer = std::function<std::vector<Branch>(
    const PartPredictions&, const std::vector<accounting::FixedNats>& remaining, Accounts)>;

inline Pmf LawOf(const PrivateMixture& mixture, std::size_t support_size) {
  Pmf law;
  for (std::size_t x = 0; x < support_size; ++x) {
    law.push_back(OperatorView::Probability(mixture, x));
  }
  return law;
}

// A mechanism without randomness of its own, charged by its own rule. The null part, if there is
// one, never takes part: to the last unit of the integers what "replaced by the public model"
// means.
inline Answerer PlainAnswerer(const Mechanism& mechanism,
                              std::optional<std::size_t> null_part = std::nullopt) {
  return [&mechanism, null_part](const PartPredictions& predictions,
                                 const std::vector<accounting::FixedNats>& remaining,
                                 Accounts accounts) {
    NoRandomness no_randomness;
    auto proposal = *mechanism.Propose(predictions, remaining, {});
    std::vector<bool> paid = ChargeAccounts(mechanism.charge_rule(), proposal->charges(), accounts);
    if (null_part) paid[*null_part] = false;
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, no_randomness);
    std::vector<Branch> branches;
    branches.push_back({1, std::move(accounts), LawOf(mixture, predictions.support_size())});
    return branches;
  };
}

// A broken ledger, which books half of every charge: what a mechanism with charges half as high as
// they must be would do.
inline Answerer HalfPriceAnswerer(const Mechanism& mechanism) {
  return [&mechanism](const PartPredictions& predictions,
                      const std::vector<accounting::FixedNats>& remaining, Accounts accounts) {
    NoRandomness no_randomness;
    auto proposal = *mechanism.Propose(predictions, remaining, {});
    std::vector<accounting::FixedNats> halved;
    for (const accounting::FixedNats charge : proposal->charges()) {
      halved.push_back(accounting::FixedNats::FromUnits(charge.units() / 2));
    }
    const std::vector<bool> paid = ChargeAccounts(mechanism.charge_rule(), halved, accounts);
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, no_randomness);
    std::vector<Branch> branches;
    branches.push_back({1, std::move(accounts), LawOf(mixture, predictions.support_size())});
    return branches;
  };
}

struct Conversation {
  const Answerer& answerer;
  const Policy& policy;
  std::size_t num_parts = 1;
  double budget = 1;
  std::size_t steps = 1;
  // Sequences that run at the same time: all are proposed with the budgets of the step's start and
  // charged one after the other.
  std::size_t sequences = 1;
};

// The probability of every transcript, in lexicographic order.
class TranscriptLaw {
 public:
  explicit TranscriptLaw(const Conversation& conversation) : conversation_(conversation) {
    const Accounts accounts(
        conversation.num_parts,
        accounting::IndividualFilter(accounting::FixedNats::RoundDown(conversation.budget)));
    Extend({}, {}, accounts, {}, 1);
  }
  const Pmf& law() const { return law_; }

 private:
  static std::vector<accounting::FixedNats> Remaining(const Accounts& accounts) {
    std::vector<accounting::FixedNats> remaining;
    for (const auto& account : accounts) remaining.push_back(account.remaining());
    return remaining;
  }

  // `released` is what the clients saw when the step began, `step` the tokens of the step so far.
  void Extend(const History& released, const History& step, const Accounts& accounts,
              const std::vector<accounting::FixedNats>& remaining_at_start, double probability) {
    if (released.size() == conversation_.steps * conversation_.sequences) {
      Add(released, probability);
      return;
    }
    const auto remaining = step.empty() ? Remaining(accounts) : remaining_at_start;
    History query = released;
    query.resize(released.size() + step.size(), 0);  // a sequence does not see its step's others
    const SimulatedPredictions predictions = conversation_.policy(query);
    support_size_ = predictions.view().support_size();
    for (const Branch& branch : conversation_.answerer(predictions.view(), remaining, accounts)) {
      for (std::size_t token = 0; token < support_size_; ++token) {
        History tokens = step;
        tokens.push_back(token);
        const double extended = probability * branch.probability * branch.law[token];
        if (tokens.size() < conversation_.sequences) {
          Extend(released, tokens, branch.accounts, remaining, extended);
        } else {
          History all = released;
          all.insert(all.end(), tokens.begin(), tokens.end());
          Extend(all, {}, branch.accounts, {}, extended);
        }
      }
    }
  }

  void Add(const History& transcript, double probability) {
    std::size_t index = 0;
    std::size_t transcripts = 1;
    for (const std::size_t token : transcript) {
      index = index * support_size_ + token;
      transcripts *= support_size_;
    }
    law_.resize(transcripts, 0);
    law_[index] += probability;
  }

  Conversation conversation_;
  std::size_t support_size_ = 0;
  Pmf law_;
};

// The policy with one part's predictions changed: by `change`, given the real predictions.
using Change = std::function<Pmf(const PartPredictions&, int half)>;
inline Policy WithPart(const Policy& policy, std::size_t part, const Change& change) {
  return [=](const History& history) {
    const SimulatedPredictions real = policy(history);
    const PartPredictions view = real.view();
    std::vector<Pmf> members;
    for (int i = 0; i < view.num_parts; ++i) {
      for (int half = 0; half < view.halves; ++half) {
        const auto pmf = view.member(i, half);
        members.push_back(static_cast<std::size_t>(i) == part ? change(view, half)
                                                              : Pmf(pmf.begin(), pmf.end()));
      }
    }
    return SimulatedPredictions({view.public_pmf.begin(), view.public_pmf.end()}, members,
                                view.halves);
  };
}

// One part replaced by the public model, for ever: adjacency "null".
inline Policy WithNullPart(const Policy& policy, std::size_t part) {
  return WithPart(policy, part, [](const PartPredictions& view, int) {
    return Pmf(view.public_pmf.begin(), view.public_pmf.end());
  });
}

// A policy drawn at random: for every history its own pmfs, from flat to nearly a point mass.
class RandomPolicy {
 public:
  RandomPolicy(base::RandomSource& random, std::size_t support_size, std::size_t num_parts,
               std::size_t answers, int halves = 1)
      : support_size_(support_size) {
    std::size_t nodes = 1;
    for (std::size_t depth = 0; depth < answers; ++depth) {
      for (std::size_t node = 0; node < nodes; ++node) {
        std::vector<Pmf> members;
        for (std::size_t i = 0; i < num_parts * static_cast<std::size_t>(halves); ++i) {
          members.push_back(RandomPmf(random, support_size, 6));
        }
        predictions_.emplace_back(RandomPmf(random, support_size, 2), members, halves);
      }
      nodes *= support_size;
    }
  }

  SimulatedPredictions operator()(const History& history) const {
    std::size_t index = 0;  // of the node, level by level
    for (const std::size_t token : history) index = index * support_size_ + token + 1;
    return predictions_[index];
  }

 private:
  std::size_t support_size_;
  std::vector<SimulatedPredictions> predictions_;
};

}  // namespace submix::mechanism

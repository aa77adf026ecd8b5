// PMixED's secret subsets, every one with its probability and law.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "submix/base/check.h"
#include "submix/mechanism/baselines/pmixed.h"
#include "submix/mechanism/testing/transcripts.h"

namespace submix::mechanism {

inline MechanismOptions PMixedOptions(ChargeAccounting accounting, int num_parts, double order,
                                      double sampling_probability, double target_leakage,
                                      double ball_radius = 0) {
  MechanismOptions options;
  options.name = kPMixedName;
  options.accounting = accounting;
  options.num_parts = num_parts;
  options.order = *divergence::RenyiOrder::Create(order);
  options.sampling_probability = sampling_probability;
  options.target_leakage = target_leakage;
  options.ball_radius = ball_radius;
  return options;
}

inline std::vector<accounting::FixedNats> Plenty(std::size_t num_parts) {
  return std::vector<accounting::FixedNats>(num_parts, accounting::FixedNats::RoundDown(8000));
}

// Draws the given subset.
class Script final : public base::RandomSource {
 public:
  explicit Script(std::vector<bool> drawn) : drawn_(std::move(drawn)) {}
  void Fill(std::span<std::byte>) override { SUBMIX_CHECK(false, "a draw that is no member's"); }
  bool NextBernoulli(std::uint64_t, std::uint64_t) override { return drawn_.at(next_++); }

 private:
  std::vector<bool> drawn_;
  std::size_t next_ = 0;
};

// Every subset with its probability, and the law that it gives.
inline std::vector<Branch> Subsets(const Mechanism& mechanism, double sampling_probability,
                                   const PartPredictions& predictions,
                                   const std::vector<accounting::FixedNats>& remaining,
                                   Accounts accounts) {
  auto charges = (*mechanism.Propose(predictions, remaining, {}))->charges();
  const std::vector<bool> paid = ChargeAccounts(mechanism.charge_rule(), charges, accounts);
  const auto k = static_cast<std::size_t>(predictions.num_parts);
  std::vector<Branch> branches;
  for (std::size_t subset = 0; subset < std::size_t{1} << k; ++subset) {
    double probability = 1;
    std::vector<bool> members;
    for (std::size_t part = 0; part < k; ++part) {
      const bool drawn = (subset >> part & 1) != 0;
      probability *= drawn ? sampling_probability : 1 - sampling_probability;
      members.push_back(drawn);
    }
    if (probability == 0) continue;
    Script script(members);
    auto proposal = *mechanism.Propose(predictions, remaining, {});
    const PrivateMixture mixture = std::move(*proposal).Mix(paid, script);
    branches.push_back({probability, accounts, LawOf(mixture, predictions.support_size())});
  }
  return branches;
}

inline Answerer SubsetAnswerer(const Mechanism& mechanism, double sampling_probability) {
  return [=, &mechanism](const PartPredictions& predictions,
                         const std::vector<accounting::FixedNats>& remaining, Accounts accounts) {
    return Subsets(mechanism, sampling_probability, predictions, remaining, std::move(accounts));
  };
}

inline Pmf MarginalLaw(const std::vector<Branch>& branches) {
  Pmf law(branches[0].law.size(), 0);
  for (const Branch& branch : branches) {
    for (std::size_t x = 0; x < law.size(); ++x) law[x] += branch.probability * branch.law[x];
  }
  return law;
}

}  // namespace submix::mechanism

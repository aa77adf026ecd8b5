#include "submix/eval/measuring/gnmax_bound.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/mechanism/baselines/gnmax.h"
#include "submix/mechanism/operator_view.h"

namespace submix::eval {
namespace gnmax_bound_test {

constexpr int kParts = 7;
constexpr std::size_t kTokens = 5;

// Every part is sure of one token.
std::vector<double> Sure(const std::vector<std::size_t>& tokens) {
  std::vector<double> pmfs(tokens.size() * kTokens, 0.01);
  for (std::size_t part = 0; part < tokens.size(); ++part)
    pmfs[part * kTokens + tokens[part]] = 0.96;
  return pmfs;
}

mechanism::PartPredictions View(const std::vector<double>& public_pmf,
                                const std::vector<double>& members) {
  return {public_pmf, members, kParts, 1};
}

TEST(GnmaxBoundTest, IsThePapersFormula) {
  const std::vector<double> public_pmf(kTokens, 0.2);
  const std::vector<double> members = Sure({0, 0, 0, 0, 1, 1, 2});
  const auto bound = [&](std::size_t token, double scale) {
    return GnmaxProbabilityBound(View(public_pmf, members), token, scale);
  };
  // Votes 4, 2, 1, 0, 0. The winner has 2 votes more than the second.
  EXPECT_NEAR(bound(0, 1), std::erfc(-1.0) / 2, 1e-15);
  EXPECT_NEAR(bound(1, 1), std::erfc(1.0) / 2, 1e-15);
  // Among all five, whatever the noise.
  EXPECT_NEAR(bound(3, 100), 0.2, 1e-15);
  EXPECT_NEAR(bound(2, 100), 1.0 / 3, 1e-15);
}

TEST(GnmaxBoundTest, NoTokenIsLikelierInTheExactLaw) {
  const auto random = base::MakeSeededRandomSource(1);
  const std::vector<double> public_pmf(kTokens, 0.2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::size_t> tokens;
    for (int part = 0; part < kParts; ++part) tokens.push_back(random->NextBelow(kTokens));
    const std::vector<double> members = Sure(tokens);
    mechanism::MechanismOptions options;
    options.name = mechanism::kGnmaxName;
    options.num_parts = kParts;
    options.target_leakage = trial % 2 == 0 ? 2 : 0.05;
    const auto gnmax = mechanism::Gnmax::Create(options).value();
    const std::vector<accounting::FixedNats> plenty(kParts, accounting::FixedNats::RoundDown(100));
    auto proposal = gnmax->Propose(View(public_pmf, members), plenty, {}).value();
    const auto mixture = std::move(*proposal).Mix(std::vector<bool>(kParts, true), *random);
    for (std::size_t x = 0; x < kTokens; ++x) {
      EXPECT_LE(mechanism::OperatorView::Probability(mixture, x),
                GnmaxProbabilityBound(View(public_pmf, members), x, gnmax->noise_scale()) + 1e-7);
    }
  }
}

}  // namespace gnmax_bound_test
}  // namespace submix::eval

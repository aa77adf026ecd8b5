#include "submix/mechanism/private_mixture.h"

#include <array>
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/operator_view.h"

namespace submix::mechanism {
namespace private_mixture_test {

TEST(PrivateMixtureTest, DrawsTokensAsOftenAsTheirWeightsSay) {
  const std::array<std::uint64_t, 4> weights{1, 0, 6, 3};
  const PrivateMixture mixture({}, {weights.begin(), weights.end()}, {});
  const auto random = base::MakeSeededRandomSource(1);
  constexpr int kDraws = 100000;
  std::array<int, 4> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts[OperatorView::Draw(mixture, *random)];
  EXPECT_EQ(counts[1], 0);
  double chi_square = 0;
  for (const std::size_t x : {0u, 2u, 3u}) {
    const double expected = kDraws * static_cast<double>(weights[x]) / 10;
    EXPECT_EQ(OperatorView::Probability(mixture, x), static_cast<double>(weights[x]) / 10);
    chi_square += std::pow(counts[x] - expected, 2) / expected;
  }
  // 2 degrees of freedom: P(chi^2 > 18.4) = 1e-4, and the seed is fixed.
  EXPECT_LT(chi_square, 18.4);
}

TEST(PrivateMixtureTest, DrawsFromTotalsNearTheLimit) {
  const std::uint64_t half = std::uint64_t{1} << 62;
  const PrivateMixture mixture({}, {half, half - 1}, {});
  const auto random = base::MakeSeededRandomSource(2);
  int firsts = 0;
  for (int i = 0; i < 10000; ++i) firsts += OperatorView::Draw(mixture, *random) == 0 ? 1 : 0;
  EXPECT_NEAR(firsts, 5000, 200);  // four standard deviations
}

TEST(PrivateMixtureTest, KeepsItsReleaseAndCharges) {
  const auto charge = accounting::FixedNats::RoundUp(.25);
  PrivateMixture mixture({3, 4}, {1, 1}, {charge, {}});
  const PrivateMixture moved = std::move(mixture);
  EXPECT_EQ(moved.release_id(), (base::ReleaseId{3, 4}));
  EXPECT_EQ(moved.charges(), (std::vector<accounting::FixedNats>{charge, {}}));
}

TEST(OperatorViewTest, OpensAScreenWithWhatItIsGiven) {
  const std::vector<accounting::FixedNats> remaining(3, accounting::FixedNats::RoundDown(1));
  std::size_t budgets = 0;
  base::ReleaseId released;
  PrivateScreen screen({3, 4}, remaining,
                       [&](base::RandomSource&, std::span<const accounting::FixedNats> left,
                           base::ReleaseId next) -> base::StatusOr<std::unique_ptr<Proposal>> {
                         budgets = left.size();
                         released = next;
                         return base::InternalError("asked");
                       });
  const auto random = base::MakeSeededRandomSource(4);
  EXPECT_THAT(OperatorView::Open(std::move(screen), *random, remaining, {5, 6}),
              base::StatusIs(base::StatusCode::kInternal, testing::HasSubstr("asked")));
  EXPECT_EQ(budgets, 3u);
  EXPECT_EQ(released, (base::ReleaseId{5, 6}));
}

TEST(PrivateMixtureDeathTest, HasMassBelowTheLimitAndIsDrawnFromOnce) {
  const std::uint64_t half = std::uint64_t{1} << 62;
  EXPECT_DEATH(PrivateMixture({}, {0, 0}, {}), "without mass");
  EXPECT_DEATH(PrivateMixture({}, {half, half}, {}), "2\\^63");
  EXPECT_DEATH(PrivateMixture({}, {2 * half, 0}, {}), "2\\^63");
  EXPECT_DEATH(PrivateMixture({}, {2 * half, 2 * half, 1}, {}), "2\\^63");
  EXPECT_DEATH(PrivateMixture({}, {half, half - 0xffffffff, 0xffffffff}, {}), "2\\^63");
  PrivateMixture mixture({}, {1, 1}, {});
  const PrivateMixture moved = std::move(mixture);
  const auto random = base::MakeSeededRandomSource(3);
  EXPECT_DEATH(OperatorView::Draw(mixture, *random), "once");  // NOLINT(bugprone-use-after-move)
}

}  // namespace private_mixture_test
}  // namespace submix::mechanism

#include "submix/engine/sample.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/ledger/memory_ledger.h"

namespace submix::engine {
namespace sample_test {

using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

// Counts what is drawn from it.
class CountingRandom final : public base::RandomSource {
 public:
  void Fill(std::span<std::byte> bytes) override {
    drawn_ += bytes.size();
    source_->Fill(bytes);
  }
  std::size_t drawn() const { return drawn_; }

 private:
  std::unique_ptr<base::RandomSource> source_ = base::MakeSeededRandomSource(7);
  std::size_t drawn_ = 0;
};

class SampleTest : public ::testing::Test {
 protected:
  static std::vector<FixedNats> Charges(std::int64_t first, std::int64_t second) {
    return {FixedNats::FromUnits(first), FixedNats::FromUnits(second)};
  }

  ledger::Receipt Pay(base::ReleaseId id, const std::vector<FixedNats>& charges) {
    const ledger::ChargeRequest request{id, accounting::ChargeRule::kPerPart, charges};
    auto receipts = ledger_->Charge(std::span(&request, 1));
    EXPECT_THAT(receipts, base::IsOk());
    return std::move(receipts->front());
  }

  static mechanism::PrivateMixture Mixture(base::ReleaseId id, std::vector<FixedNats> charges) {
    return mechanism::PrivateMixture(id, {1, 2, 5}, std::move(charges));
  }

  const base::ReleaseId id_{11, 1};
  std::unique_ptr<ledger::Ledger> ledger_ =
      ledger::MakeMemoryLedger(2, FixedNats::FromUnits(1'000'000'000));
  CountingRandom random_;
};

TEST_F(SampleTest, DrawsByTheIntegerWeights) {
  std::array<int, 3> counts{};
  constexpr int kDraws = 8000;
  for (int i = 0; i < kDraws; ++i) {
    const base::ReleaseId id{11, static_cast<std::uint64_t>(i)};
    auto token = Sample(Mixture(id, Charges(1, 2)), Pay(id, Charges(1, 2)), random_);
    SUBMIX_ASSERT_OK(token);
    ++counts[*token];
  }
  // Seeded; six standard deviations of a binomial count.
  for (const auto& [token, weight] : {std::pair{0, 1}, {1, 2}, {2, 5}}) {
    const double p = weight / 8.0;
    EXPECT_NEAR(counts[static_cast<std::size_t>(token)], kDraws * p,
                6 * std::sqrt(kDraws * p * (1 - p)));
  }
}

TEST_F(SampleTest, AcceptsAMixtureWithoutThePartThatCouldNotPay) {
  ledger::Receipt receipt = Pay(id_, Charges(3, 2'000'000'000));
  ASSERT_FALSE(receipt.paid()[1]);
  SUBMIX_EXPECT_OK(Sample(Mixture(id_, Charges(3, 0)), std::move(receipt), random_));
}

TEST_F(SampleTest, RefusesAMixtureOfAPartThatCouldNotPay) {
  EXPECT_THAT(
      Sample(Mixture(id_, Charges(3, 2'000'000'000)), Pay(id_, Charges(3, 2'000'000'000)), random_),
      StatusIs(StatusCode::kInternal, HasSubstr("other charges")));
  EXPECT_EQ(random_.drawn(), 0U);
}

TEST_F(SampleTest, RefusesAnotherReleasesReceipt) {
  EXPECT_THAT(Sample(Mixture({11, 2}, Charges(1, 1)), Pay(id_, Charges(1, 1)), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("another release")));
  EXPECT_THAT(Sample(Mixture({12, 1}, Charges(1, 1)), Pay(id_, Charges(1, 1)), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("another release")));
  EXPECT_EQ(random_.drawn(), 0U);
}

TEST_F(SampleTest, RefusesCheaperAndDearerReceiptsAlike) {
  for (const auto& charges : {Charges(1, 1), Charges(3, 2), Charges(2, 1)}) {
    EXPECT_THAT(Sample(Mixture(id_, Charges(1, 2)), Pay(id_, charges), random_),
                StatusIs(StatusCode::kInternal, HasSubstr("other charges")));
  }
  EXPECT_THAT(Sample(Mixture(id_, {FixedNats::FromUnits(1)}), Pay(id_, Charges(1, 0)), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("other charges")));
  EXPECT_EQ(random_.drawn(), 0U);
}

TEST_F(SampleTest, UsesUpReceiptAndMixture) {
  ledger::Receipt receipt = Pay(id_, Charges(1, 2));
  mechanism::PrivateMixture mixture = Mixture(id_, Charges(1, 2));
  SUBMIX_ASSERT_OK(Sample(std::move(mixture), std::move(receipt), random_));
  const std::size_t drawn = random_.drawn();
  EXPECT_FALSE(receipt.is_valid());  // NOLINT(bugprone-use-after-move): the point of this test
  EXPECT_THAT(Sample(Mixture(id_, Charges(1, 2)), std::move(receipt), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("receipt has been used")));
  EXPECT_THAT(Sample(std::move(mixture), Pay(id_, Charges(1, 2)), random_),
              StatusIs(StatusCode::kInternal, _));
  EXPECT_EQ(random_.drawn(), drawn);
}

TEST_F(SampleTest, RefusesAUsedUpMixtureThatCostsNothing) {
  // No account at all: the charges of a moved-from mixture would match.
  ledger_ = ledger::MakeMemoryLedger(0, FixedNats());
  mechanism::PrivateMixture mixture = Mixture(id_, {});
  const mechanism::PrivateMixture thief = std::move(mixture);
  EXPECT_THAT(Sample(std::move(mixture), Pay(id_, {}), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("mixture has been used")));
  EXPECT_EQ(random_.drawn(), 0U);
}

TEST_F(SampleTest, UsesUpBothWhenItRefuses) {
  ledger::Receipt receipt = Pay(id_, Charges(1, 1));
  EXPECT_THAT(Sample(Mixture(id_, Charges(1, 2)), std::move(receipt), random_),
              StatusIs(StatusCode::kInternal, _));
  EXPECT_THAT(Sample(Mixture(id_, Charges(1, 1)), std::move(receipt), random_),
              StatusIs(StatusCode::kInternal, HasSubstr("receipt has been used")));
}

TEST_F(SampleTest, SaysNothingOfTheNumbers) {
  const auto token = Sample(Mixture(id_, Charges(123456, 2)), Pay(id_, Charges(7, 2)), random_);
  EXPECT_EQ(token.status().message().find_first_of("0123456789"), std::string::npos);
}

}  // namespace sample_test
}  // namespace submix::engine

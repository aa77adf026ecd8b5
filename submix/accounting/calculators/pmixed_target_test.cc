#include "submix/accounting/calculators/pmixed_target.h"

#include <cmath>
#include <limits>

#include "submix/accounting/testing/reference_table.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::accounting {
namespace pmixed_target_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

TEST(PmixedTargetTest, AnswersAgreeWithHighPrecision) {
  ExpectReferences("pmixed", 54, 4, 1e-11, [](const ReferenceRecord& record) {
    return PmixedTokenRdp(record.number(0), static_cast<int>(record.number(1)), record.number(2),
                          static_cast<int>(record.number(3)));
  });
}

// PMixED: epsilon 8, delta 1e-5, order 3, 1,024 tokens, p = .03, 80 parts.
TEST(PmixedTargetTest, AgreesWithThePublishedSetting) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PmixedTargets targets, PmixedTarget({}));
  EXPECT_NEAR(targets.rdp_per_answer, 0.003123, 5e-7);
  ASSERT_EQ(targets.beta.size(), 81u);
  EXPECT_NEAR(targets.beta[1], 0.565, 5e-4);
  EXPECT_NEAR(targets.beta[2], 0.194, 5e-4);
  EXPECT_NEAR(targets.beta[3], 0.224, 5e-4);
  EXPECT_NEAR(targets.beta[4], 0.244, 5e-4);
  EXPECT_NEAR(targets.beta[8], 0.287, 5e-4);
  EXPECT_EQ(targets.beta[0], targets.beta[1]);
}

TEST(PmixedTargetTest, ReturnsTheFeasibleEnd) {
  PmixedSettings settings;
  settings.num_parts = 12;
  for (const int order : {2, 3, 18}) {
    for (const double p : {0.01, 0.5, 1.0}) {
      settings.order = order;
      settings.sampling_probability = p;
      SUBMIX_ASSERT_OK_AND_ASSIGN(const PmixedTargets targets, PmixedTarget(settings));
      for (int drawn = 1; drawn <= settings.num_parts; ++drawn) {
        const double beta = targets.beta[drawn];
        EXPECT_LE(PmixedTokenRdp(beta, drawn, p, order), targets.rdp_per_answer);
        EXPECT_GT(PmixedTokenRdp(beta * (1 + 1e-9), drawn, p, order), targets.rdp_per_answer);
      }
    }
  }
}

// The slides' privacy loss without subsampling.
TEST(PmixedTargetTest, TheSubsetBoundIsTheSlides) {
  EXPECT_NEAR(PmixedSubsetRdp(0.1, 80, 3), std::log((79 + std::exp(2 * 4 * 0.1 * 3)) / 80) / 2,
              1e-15);
  EXPECT_EQ(PmixedSubsetRdp(0.1, 1, 3), PmixedSubsetRdp(0.1, 0, 3));
  EXPECT_EQ(PmixedSubsetRdp(std::nan(""), 2, 3), std::numeric_limits<double>::infinity());
}

TEST(PmixedTargetTest, RefusesSettingsOutOfRange) {
  const auto refused = [](PmixedSettings settings, const char* words) {
    EXPECT_THAT(PmixedTarget(settings), StatusIs(StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  refused({.answers = 0}, "at least 1 token");
  refused({.num_parts = 0}, "1 part");
  refused({.order = 1}, "order of 2");
  refused({.sampling_probability = 0}, "sampling probability");
  refused({.sampling_probability = std::nan("")}, "sampling probability");
  refused({.epsilon = -1}, "epsilon");
  refused({.epsilon = std::numeric_limits<double>::infinity()}, "epsilon");
  refused({.delta = 1}, "delta");
}

}  // namespace pmixed_target_test
}  // namespace submix::accounting

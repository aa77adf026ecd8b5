#include "submix/accounting/calculators/dp_decoding_rdp.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "submix/accounting/testing/reference_table.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::accounting {
namespace dp_decoding_rdp_test {

using divergence::RenyiOrder;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(DpDecodingRdpTest, AgreesWithHighPrecision) {
  ExpectReferences("dp-decoding", 60, 3, 1e-11, [](const ReferenceRecord& record) {
    return DpDecodingRdp(record.number(0), static_cast<std::int64_t>(record.number(1)),
                         record.order(2));
  });
}

// The paper's Theorem 1 at its setting, V = 150,000: 59 and 63 are at about 4.75 tokens, the mean
// number that it masks.
TEST(DpDecodingRdpTest, AgreesWithThePaper) {
  constexpr double kMeanTokens = 4.75;
  EXPECT_EQ(std::round(kMeanTokens * DpDecodingRdp(0.6, 150000, RenyiOrder::Infinity())), 59);
  EXPECT_EQ(std::round(kMeanTokens * DpDecodingRdp(0.8, 150000, RenyiOrder::Infinity())), 63);
  EXPECT_NEAR(DpDecodingRdp(0.3, 5, RenyiOrder::Infinity()), std::log((1 + 4 * 0.3) / 0.7), 1e-15);
}

// The sizes of the paper.
TEST(DpDecodingRdpTest, AgreesWithWorkedExamples) {
  EXPECT_NEAR(DpDecodingRdp(0.5, 50257, RenyiOrder::Infinity()), 10.8, 0.05);
  EXPECT_NEAR(DpDecodingRdp(0.5, 50257, RenyiOrder::Two()), 10.1, 0.05);
  EXPECT_NEAR(DpDecodingRdp(0.1, 50257, RenyiOrder::Infinity()), 8.63, 0.005);
  EXPECT_NEAR(DpDecodingRdp(0.1, 50257, RenyiOrder::Two()), 6.33, 0.005);
}

TEST(DpDecodingRdpTest, BoundsEveryPairOfPmfsAndIsReached) {
  std::mt19937_64 random(5);
  std::exponential_distribution<double> exponential;
  constexpr int kTokens = 4;
  for (int trial = 0; trial < 300; ++trial) {
    const double weight = std::uniform_real_distribution<double>(0, 0.95)(random);
    std::vector<double> p(kTokens), q(kTokens);
    double sum_p = 0, sum_q = 0;
    for (int x = 0; x < kTokens; ++x) {
      sum_p += p[x] = std::pow(exponential(random), 3);
      sum_q += q[x] = std::pow(exponential(random), 3);
    }
    for (int x = 0; x < kTokens; ++x) {
      p[x] = weight * p[x] / sum_p + (1 - weight) / kTokens;
      q[x] = weight * q[x] / sum_q + (1 - weight) / kTokens;
    }
    for (const char* text : {"1", "1.5", "2", "18", "inf"}) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      EXPECT_LE(divergence::SymmetricRenyiDivergence(p, q, order),
                DpDecodingRdp(weight, kTokens, order) * (1 + 1e-12));
    }
  }
  const std::vector<double> first = {0.4, 0.2, 0.2, 0.2};  // weight .2 on a point mass
  const std::vector<double> second = {0.2, 0.4, 0.2, 0.2};
  EXPECT_NEAR(divergence::RenyiDivergence(first, second, RenyiOrder::Two()),
              DpDecodingRdp(0.2, 4, RenyiOrder::Two()), 1e-15);
}

TEST(DpDecodingRdpTest, KnowsItsEdges) {
  for (const char* text : {"0.5", "1", "2", "inf"}) {
    const RenyiOrder order = RenyiOrder::Parse(text).value();
    EXPECT_EQ(DpDecodingRdp(0, 50257, order), 0);
    EXPECT_EQ(DpDecodingRdp(0.5, 1, order), 0);
    EXPECT_EQ(DpDecodingRdp(std::nan(""), 5, order), kInfinity);
    EXPECT_EQ(DpDecodingRdp(-0.1, 5, order), kInfinity);
    EXPECT_EQ(DpDecodingRdp(1.1, 5, order), kInfinity);
    EXPECT_EQ(DpDecodingRdp(0.5, 0, order), kInfinity);
  }
  EXPECT_EQ(DpDecodingRdp(1, 5, RenyiOrder::Two()), kInfinity);
  EXPECT_EQ(DpDecodingRdp(1, 5, RenyiOrder::Infinity()), kInfinity);
}

}  // namespace dp_decoding_rdp_test
}  // namespace submix::accounting

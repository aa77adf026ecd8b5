#include "submix/divergence/renyi_divergence.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace submix::divergence {
namespace renyi_divergence_test {

using Weights = std::vector<std::uint64_t>;
using Pmf = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRelativeTolerance = 1e-12;

struct Pair {
  Weights p;
  Weights q;
};

// The rule `generate` of testdata/divergence/generate.py.
Pair GeneratePair(std::size_t size, std::uint64_t seed, std::uint64_t divisor) {
  std::uint64_t state = seed;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  Pair pair;
  for (std::size_t x = 0; x < size; ++x) pair.p.push_back(1 + next());
  pair.q = pair.p;
  for (std::size_t left = 0; left + 1 < size; left += 2) {
    const std::uint64_t moved = next() % (pair.p[left + 1] / divisor + 1);
    pair.q[left] += moved;
    pair.q[left + 1] -= moved;
  }
  return pair;
}

void ExpectWithinTolerance(double actual, double expected, const std::string& where) {
  if (expected == 0 || std::isinf(expected)) {
    EXPECT_EQ(actual, expected) << where;
  } else {
    EXPECT_NEAR(actual / expected, 1, kRelativeTolerance) << where;
  }
}

TEST(RenyiDivergenceTest, AgreesWithHighPrecisionOnIntegerWeights) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/divergence/renyi_divergence.txt");
  ASSERT_TRUE(table.is_open());
  std::map<std::string, Pair> pairs;
  int compared = 0;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string kind, name;
    fields >> kind >> name;
    if (kind == "weights") {
      std::string which;
      fields >> which;
      Weights& weights = which == "p" ? pairs[name].p : pairs[name].q;
      for (std::uint64_t weight = 0; fields >> weight;) weights.push_back(weight);
    } else if (kind == "generated") {
      std::size_t size = 0;
      std::uint64_t seed = 0, divisor = 0;
      fields >> size >> seed >> divisor;
      pairs[name] = GeneratePair(size, seed, divisor);
    } else {
      ASSERT_EQ(kind, "divergence");
      std::string order_text, forward, backward;
      fields >> order_text >> forward >> backward;
      const RenyiOrder order = RenyiOrder::Parse(order_text).value();
      const Pair& pair = pairs.at(name);
      ExpectWithinTolerance(RenyiDivergence(pair.p, pair.q, order), std::atof(forward.c_str()),
                            line);
      ExpectWithinTolerance(RenyiDivergence(pair.q, pair.p, order), std::atof(backward.c_str()),
                            line);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 15 * 14);
}

TEST(RenyiDivergenceTest, AgreesWithTheProofsPageOnPmfs) {
  const Pmf p = {0.5, 0.5};
  const Pmf q = {0.7, 0.3};
  EXPECT_NEAR(RenyiDivergence(p, q, RenyiOrder::Two()), 0.17435338714478, 1e-13);
  EXPECT_NEAR(RenyiDivergence(q, p, RenyiOrder::Two()), 0.14842000511827, 1e-13);
  EXPECT_NEAR(SymmetricRenyiDivergence(p, q, RenyiOrder::Two()), 0.17435338714478, 1e-13);
  // A member that always answers against one that never does: the SubMix paper's stopping example.
  EXPECT_NEAR(RenyiDivergence(Pmf{1, 0, 0, 0}, Pmf(4, 0.25), RenyiOrder::Two()), std::log(4),
              1e-14);
  EXPECT_EQ(RenyiDivergence(Pmf(4, 0.25), Pmf{1, 0, 0, 0}, RenyiOrder::Two()), kInfinity);
}

TEST(RenyiDivergenceTest, MissingSupportIsInfiniteFromOrderOneUpwardsOnly) {
  const Pmf p = {0.5, 0.5, 0};
  const Pmf q = {0, 0.5, 0.5};
  for (const char* order : {"1", "1.000001", "2", "64", "inf"}) {
    EXPECT_EQ(RenyiDivergence(p, q, RenyiOrder::Parse(order).value()), kInfinity) << order;
  }
  // Half the mass is shared: -log(.5) / (1 - order).
  EXPECT_NEAR(RenyiDivergence(p, q, RenyiOrder::Create(0.5).value()), 2 * std::log(2), 1e-14);
}

TEST(RenyiDivergenceTest, RatiosBeyondTheRangeOfDoublesKeepTheirLogarithm) {
  const Pmf p = {1 - 1e-310, 1e-310};
  const Pmf q = {1e-310, 1 - 1e-310};
  const double log_ratio = 310 * std::log(10);
  for (const char* order : {"1", "1.5", "2", "512", "inf"}) {
    EXPECT_NEAR(RenyiDivergence(p, q, RenyiOrder::Parse(order).value()), log_ratio, 1e-9) << order;
  }
}

TEST(RenyiDivergenceTest, NanIsUnpayableAtEveryOrder) {
  for (const char* text : {"0.5", "1", "1.5", "2", "18", "inf"}) {
    const RenyiOrder order = RenyiOrder::Parse(text).value();
    const Pmf good = {0.25, 0.5, 0.25};
    for (std::size_t place = 0; place < good.size(); ++place) {
      Pmf bad = good;
      bad[place] = std::nan("");
      EXPECT_EQ(RenyiDivergence(bad, good, order), kInfinity) << text;
      EXPECT_EQ(RenyiDivergence(good, bad, order), kInfinity) << text;
      EXPECT_EQ(RenyiDivergence(Pmf{0, 1, 0}, bad, order), kInfinity) << text;
    }
  }
}

class RenyiDivergencePropertyTest : public testing::Test {
 protected:
  static constexpr int kTrials = 200;
  const std::vector<const char*> orders_ = {"0.5", "0.999999", "1",  "1.000001", "1.01",
                                            "1.5", "2",        "18", "512",      "inf"};

  // Random weights with one total, some of them zero.
  Weights RandomWeights(std::size_t size) {
    constexpr std::uint64_t kTotal = std::uint64_t{1} << 48;
    Weights weights(size);
    std::uint64_t left = kTotal;
    for (std::size_t x = 0; x + 1 < size; ++x) {
      weights[x] = random_() % 5 == 0 ? 0 : random_() % (left / 2);
      left -= weights[x];
    }
    weights.back() = left;
    return weights;
  }

  std::mt19937_64 random_{20240717};
};

TEST_F(RenyiDivergencePropertyTest, IsPositiveAndZeroExactlyForEqualPmfs) {
  for (int trial = 0; trial < kTrials; ++trial) {
    const Weights p = RandomWeights(6);
    const Weights q = RandomWeights(6);
    for (const char* text : orders_) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      EXPECT_EQ(RenyiDivergence(p, p, order), 0) << text;
      EXPECT_GT(RenyiDivergence(p, q, order), 0) << text;
    }
  }
}

TEST_F(RenyiDivergencePropertyTest, DoesNotDecreaseWithTheOrder) {
  for (int trial = 0; trial < kTrials; ++trial) {
    const Weights p = RandomWeights(6);
    const Weights q = RandomWeights(6);
    double before = 0;
    for (const char* text : orders_) {
      const double divergence = RenyiDivergence(p, q, RenyiOrder::Parse(text).value());
      EXPECT_GE(divergence, before * (1 - kRelativeTolerance)) << text;
      before = divergence;
    }
  }
}

TEST_F(RenyiDivergencePropertyTest, DoesNotGrowWhenTokensAreMerged) {
  const auto merge = [](const Weights& weights) {
    return Weights{weights[0] + weights[1], weights[2], weights[3] + weights[4] + weights[5]};
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    const Weights p = RandomWeights(6);
    const Weights q = RandomWeights(6);
    for (const char* text : orders_) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      const double bound = RenyiDivergence(p, q, order);
      EXPECT_LE(RenyiDivergence(merge(p), merge(q), order), bound * (1 + kRelativeTolerance));
    }
  }
}

TEST_F(RenyiDivergencePropertyTest, MixturesStayWithinTheLargerDivergence) {
  const auto mix = [](const Weights& a, const Weights& b) {
    Weights mixed;
    for (std::size_t x = 0; x < a.size(); ++x) mixed.push_back(3 * a[x] + b[x]);
    return mixed;
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    const Weights p = RandomWeights(6), q = RandomWeights(6);
    const Weights r = RandomWeights(6), s = RandomWeights(6);
    for (const char* text : orders_) {
      const RenyiOrder order = RenyiOrder::Parse(text).value();
      const double bound = std::max(RenyiDivergence(p, q, order), RenyiDivergence(r, s, order));
      EXPECT_LE(RenyiDivergence(mix(p, r), mix(q, s), order), bound * (1 + kRelativeTolerance));
    }
  }
}

TEST(RenyiDivergenceDeathTest, WeightsMustShareOneTotal) {
  EXPECT_DEATH(RenyiDivergence(Weights{1, 2}, Weights{1, 3}, RenyiOrder::Two()), "one total");
  EXPECT_DEATH(RenyiDivergence(Pmf{1}, Pmf{0.5, 0.5}, RenyiOrder::Two()), "one support");
}

}  // namespace renyi_divergence_test
}  // namespace submix::divergence

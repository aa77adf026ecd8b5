// The laws of the samplers: enumerated exactly where the scale is small, tested by chi-square and
// Kolmogorov-Smirnov elsewhere. Every statistical test is false with probability below 1e-6 a score
// (goodness_of_fit.h), and the seeds are fixed.
#include "submix/mechanism/baselines/discrete_noise.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::mechanism {
namespace discrete_noise_test {

using base::RandomSource;
using divergence::RenyiOrder;

constexpr double kLargestChiSquareScore = 5;
constexpr double kLargestKolmogorovScore = 2.8;

double ToDouble(Ratio ratio) {
  return static_cast<double>(ratio.numerator) / static_cast<double>(ratio.denominator);
}

// Unnormalised laws.
using Weight = std::function<double(std::int64_t)>;
Weight LaplaceWeight(Ratio scale) {
  return
      [=](std::int64_t x) { return std::exp(-std::abs(static_cast<double>(x)) / ToDouble(scale)); };
}
Weight GaussianWeight(Ratio variance) {
  return [=](std::int64_t x) {
    return std::exp(-static_cast<double>(x) * static_cast<double>(x) / (2 * ToDouble(variance)));
  };
}

double TotalWeight(const Weight& weight) {
  double total = weight(0);
  for (std::int64_t x = 1; weight(x) > 1e-18; ++x) total += 2 * weight(x);
  return total;
}

// Ends an experiment that began anew, or whose draws have become too improbable.
struct BeganAnew {};
struct TooImprobable {};

// Replays a sequence of draws and extends it with zeros; Advance gives the next sequence. All
// samplers begin, and begin anew, with the one NextBelow of an attempt.
class EnumeratedSource final : public RandomSource {
 public:
  void Fill(std::span<std::byte>) override { FAIL() << "not to be enumerated"; }

  std::uint64_t NextBelow(std::uint64_t bound) override {
    if (position_ > 0) throw BeganAnew();
    return Next({0, bound, 1 / static_cast<double>(bound)});
  }

  bool NextBernoulli(std::uint64_t numerator, std::uint64_t denominator) override {
    if (numerator == 0) return false;
    const double p = static_cast<double>(numerator) / static_cast<double>(denominator);
    return numerator == denominator || Next({0, 2, p}) == 0;
  }

  double probability() const { return probability_; }

  bool Advance() {
    while (!choices_.empty() && ++choices_.back().value == choices_.back().count) {
      choices_.pop_back();
    }
    position_ = 0;
    probability_ = 1;
    return !choices_.empty();
  }

 private:
  struct Choice {
    std::uint64_t value;  // of {0 .. count - 1}
    std::uint64_t count;
    double probability_of_zero;  // the others share the rest
  };

  std::uint64_t Next(const Choice& fresh) {
    if (position_ == choices_.size()) choices_.push_back(fresh);
    const Choice choice = choices_[position_++];
    if (choice.value == 0) {
      probability_ *= choice.probability_of_zero;
    } else {
      probability_ *= (1 - choice.probability_of_zero) / static_cast<double>(choice.count - 1);
    }
    if (probability_ < 1e-10) throw TooImprobable();
    return choice.value;
  }

  std::vector<Choice> choices_;
  std::size_t position_ = 0;
  double probability_ = 1;
};

// The law of one attempt, by all its sequences of draws.
struct AttemptLaw {
  std::map<std::int64_t, double> results;
  double began_anew = 0;
  double abandoned = 0;
};

template <typename Draw>
AttemptLaw Enumerate(const Draw& draw) {
  EnumeratedSource source;
  AttemptLaw law;
  do {
    try {
      const std::int64_t result = draw(source);
      law.results[result] += source.probability();
    } catch (const BeganAnew&) {
      law.began_anew += source.probability();
    } catch (const TooImprobable&) {
      law.abandoned += source.probability();
    }
  } while (source.Advance());
  return law;
}

template <typename Draw>
void ExpectExactLaw(const Weight& weight, const Draw& draw) {
  AttemptLaw law = Enumerate(draw);
  EXPECT_LT(law.abandoned, 5e-5);
  const double accepted = 1 - law.began_anew;
  const double total = TotalWeight(weight);
  for (std::int64_t x = -5; x <= 5; ++x) {
    EXPECT_NEAR(law.results[x] / accepted, weight(x) / total, law.abandoned / accepted + 1e-12)
        << x;
  }
}

TEST(DiscreteNoiseTest, BernoulliExpIsExact) {
  for (const Ratio exponent : {Ratio{0, 1}, {1, 3}, {1, 2}, {1, 1}, {3, 2}, {2, 1}, {17, 3}}) {
    AttemptLaw law =
        Enumerate([&](RandomSource& random) { return DrawBernoulliExp(random, exponent) ? 1 : 0; });
    EXPECT_LT(law.abandoned, 1e-7);
    EXPECT_NEAR(law.results[1], std::exp(-ToDouble(exponent)), law.abandoned + 1e-13);
  }
}

TEST(DiscreteNoiseTest, SmallLaplaceIsExact) {
  for (const Ratio scale : {Ratio{1, 1}, {1, 2}, {2, 1}, {3, 2}, {2, 3}, {4, 1}}) {
    ExpectExactLaw(LaplaceWeight(scale),
                   [&](RandomSource& random) { return DrawDiscreteLaplace(random, scale); });
  }
}

TEST(DiscreteNoiseTest, SmallGaussianIsExact) {
  for (const Ratio variance : {Ratio{1, 1}, {1, 2}, {1, 5}, {2, 1}, {7, 3}}) {
    ExpectExactLaw(GaussianWeight(variance),
                   [&](RandomSource& random) { return DrawDiscreteGaussian(random, variance); });
  }
}

// Chi-square over the values of expected count 20 and more, the tails taken together.
double ScoreOfCounts(int draws, const Weight& weight, const std::function<std::int64_t()>& draw) {
  std::map<std::int64_t, std::int64_t> counts;
  for (int i = 0; i < draws; ++i) ++counts[draw()];
  const double total = TotalWeight(weight);
  std::vector<std::int64_t> observed = {0};
  std::vector<double> expected = {1};
  std::int64_t last = 0;
  while (draws * weight(last + 1) / total > 20) ++last;
  for (std::int64_t x = -last; x <= last; ++x) {
    observed.push_back(counts[x]);
    expected.push_back(weight(x) / total);
    expected.front() -= weight(x) / total;
    counts.erase(x);
  }
  for (const auto& [x, count] : counts) observed.front() += count;
  if (draws * expected.front() < 20) {  // hardly a tail
    observed.erase(observed.begin());
    expected.erase(expected.begin());
  }
  return base::ChiSquareScore(observed, expected);
}

TEST(DiscreteNoiseTest, LaplaceFitsItsLaw) {
  const auto random = base::MakeStatisticalRandomSource(11);
  for (const Ratio scale :
       {Ratio{1, 1}, {1, 3}, {5, 1}, {7, 2}, {1'000'003, 200'000}, {40, 1}, {1, 4}}) {
    EXPECT_LT(ScoreOfCounts(400'000, LaplaceWeight(scale),
                            [&] { return DrawDiscreteLaplace(*random, scale); }),
              kLargestChiSquareScore)
        << ToDouble(scale);
  }
}

TEST(DiscreteNoiseTest, GaussianFitsItsLaw) {
  const auto random = base::MakeStatisticalRandomSource(12);
  for (const Ratio variance : {Ratio{1, 1},
                               {1, 3},
                               {5, 1},
                               {7, 2},
                               {1'000'003, 200'000},
                               {400, 1},
                               {std::uint64_t{1} << 61, std::uint64_t{1} << 60},
                               {(std::uint64_t{1} << 60) + 1, std::uint64_t{1} << 61}}) {
    EXPECT_LT(ScoreOfCounts(400'000, GaussianWeight(variance),
                            [&] { return DrawDiscreteGaussian(*random, variance); }),
              kLargestChiSquareScore)
        << ToDouble(variance);
  }
}

TEST(DiscreteNoiseTest, AWrongLawIsFound) {
  const auto random = base::MakeStatisticalRandomSource(13);
  EXPECT_GT(ScoreOfCounts(400'000, GaussianWeight({51, 10}),
                          [&] {
                            return DrawDiscreteGaussian(*random, {5, 1});
                          }),
            kLargestChiSquareScore);
  EXPECT_GT(ScoreOfCounts(400'000, LaplaceWeight({51, 10}),
                          [&] {
                            return DrawDiscreteLaplace(*random, {5, 1});
                          }),
            kLargestChiSquareScore);
}

double KolmogorovScoreOf(std::int64_t (*draw)(RandomSource&, Ratio), RandomSource& random,
                         Ratio parameter, const std::function<double(double)>& cdf) {
  std::vector<double> sample;
  for (int i = 0; i < 200'000; ++i) sample.push_back(static_cast<double>(draw(random, parameter)));
  return base::KolmogorovScore(std::move(sample), cdf, [&](double x) { return cdf(x - 1); });
}

TEST(DiscreteNoiseTest, WideNoiseFitsItsLaw) {
  const auto random = base::MakeStatisticalRandomSource(14);
  for (const Ratio scale : {Ratio{kLargestLaplaceTerm, 1},
                            {kLargestLaplaceTerm, 3},
                            {kLargestLaplaceTerm - 1, kLargestLaplaceTerm / 1000}}) {
    // P(X > m) = e^(-(m+1) u) / (1 + e^-u) for m >= 0, u = 1 / scale.
    const double u = 1 / ToDouble(scale);
    const auto tail = [=](double m) { return std::exp(-(m + 1) * u) / (1 + std::exp(-u)); };
    const auto cdf = [=](double m) { return m >= 0 ? 1 - tail(m) : tail(-m - 1); };
    EXPECT_LT(KolmogorovScoreOf(DrawDiscreteLaplace, *random, scale, cdf), kLargestKolmogorovScore);
  }
  for (const Ratio variance : {Ratio{kLargestVarianceTerm, 1},
                               {kLargestVarianceTerm - 1, 2},
                               {kLargestVarianceTerm, kLargestVarianceTerm / 100'000'000 + 1}}) {
    // A grid of 1 against a deviation of 10^4 and more: the normal law within 1e-9.
    const double deviation = std::sqrt(ToDouble(variance));
    const auto cdf = [=](double m) {
      return std::erfc(-(m + .5) / (deviation * std::sqrt(2.0))) / 2;
    };
    EXPECT_LT(KolmogorovScoreOf(DrawDiscreteGaussian, *random, variance, cdf),
              kLargestKolmogorovScore);
  }
}

TEST(DiscreteNoiseTest, NarrowestNoiseIsAlmostSurelyZero) {
  const auto random = base::MakeSeededRandomSource(15);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(DrawDiscreteLaplace(*random, {1, kLargestLaplaceTerm}), 0);
    EXPECT_EQ(DrawDiscreteGaussian(*random, {1, kLargestVarianceTerm}), 0);
  }
}

TEST(DiscreteNoiseDeathTest, RefusesWhatWouldOverflow) {
  const auto random = base::MakeSeededRandomSource(16);
  EXPECT_DEATH(DrawDiscreteLaplace(*random, {0, 1}), "out of range");
  EXPECT_DEATH(DrawDiscreteLaplace(*random, {1, 0}), "out of range");
  EXPECT_DEATH(DrawDiscreteLaplace(*random, {kLargestLaplaceTerm + 1, 1}), "out of range");
  EXPECT_DEATH(DrawDiscreteGaussian(*random, {0, 1}), "out of range");
  EXPECT_DEATH(DrawDiscreteGaussian(*random, {1, kLargestVarianceTerm + 1}), "out of range");
  EXPECT_DEATH(DrawBernoulliExp(*random, {1, 0}), "denominator");
}

TEST(DiscreteNoiseTest, LaplaceDivergenceIsTheHighPrecisionOne) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/mechanism/discrete_laplace.txt");
  ASSERT_TRUE(table.is_open());
  Ratio scale;
  std::uint64_t shift = 0;
  double order = 0;
  double expected = 0;
  int compared = 0;
  while (table >> scale.numerator >> scale.denominator >> shift >> order >> expected) {
    const double actual = DiscreteLaplaceDivergence(scale, *RenyiOrder::Create(order))(shift);
    const double slack = 0x1p-47 * static_cast<double>(shift) / ToDouble(scale);
    EXPECT_GE(actual, expected);
    EXPECT_LE(actual, expected + slack) << ToDouble(scale) << " " << shift << " " << order;
    ++compared;
  }
  EXPECT_EQ(compared, 210);
  EXPECT_NEAR(DiscreteLaplaceDivergence({2, 1}, RenyiOrder::Infinity())(7), 3.5, 1e-12);
  EXPECT_EQ(DiscreteLaplaceDivergence({2, 1}, *RenyiOrder::Create(1e300))(0), 0);
}

TEST(DiscreteNoiseTest, OnAFineGridTheDivergenceIsMironovs) {
  const Ratio scale = {std::uint64_t{1} << 40, 1};
  for (const double r : {.01, .1, 1.0, 10.0}) {
    const auto shift = static_cast<std::uint64_t>(r * 0x1p40);
    for (const double a : {1.5, 2.0, 18.0}) {  // Mironov 2017, Proposition 6
      const double expected = std::log(a / (2 * a - 1) * std::exp((a - 1) * r) +
                                       (a - 1) / (2 * a - 1) * std::exp(-a * r)) /
                              (a - 1);
      EXPECT_NEAR(DiscreteLaplaceDivergence(scale, *RenyiOrder::Create(a))(shift), expected, 1e-10);
    }
    EXPECT_NEAR(DiscreteLaplaceDivergence(scale, RenyiOrder::One())(shift), r + std::expm1(-r),
                1e-10);
  }
}

TEST(DiscreteNoiseTest, LaplaceDivergenceIsConvexInTheShift) {
  for (const double order : {1.0, 1.5, 2.0, 64.0}) {
    const DiscreteLaplaceDivergence divergence({30, 1}, *RenyiOrder::Create(order));
    for (std::uint64_t shift = 1; shift < 200; ++shift) {
      EXPECT_LE(2 * divergence(shift), divergence(shift - 1) + divergence(shift + 1) + 1e-12);
    }
  }
}

}  // namespace discrete_noise_test
}  // namespace submix::mechanism

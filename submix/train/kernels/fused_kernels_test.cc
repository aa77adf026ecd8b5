#include "submix/train/kernels/fused_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace submix::train {
namespace fused_kernels_test {

std::vector<float> Normal(std::size_t count, double deviation, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

TEST(FusedKernelsTest, CrossEntropyEqualsItsDefinitionForEveryTailLength) {
  for (std::size_t vocab = 1; vocab < 70; ++vocab) {
    const std::vector<float> logits = Normal(vocab, 5, vocab);
    const auto target = static_cast<std::int64_t>(vocab / 2);
    double sum = 0;
    for (const float x : logits) sum += std::exp(static_cast<double>(x));
    std::vector<float> row = logits;
    const double loss =
        SoftmaxCrossEntropyRow(row.data(), static_cast<std::int64_t>(vocab), target, 2.0f);
    EXPECT_NEAR(loss, std::log(sum) - logits[vocab / 2], 1e-5);
    for (std::size_t i = 0; i < vocab; ++i) {
      const double p = std::exp(static_cast<double>(logits[i])) / sum;
      EXPECT_NEAR(row[i], 2 * (p - (i == vocab / 2 ? 1 : 0)), 1e-5);
    }
  }
}

TEST(FusedKernelsTest, CrossEntropyHoldsAtTheEndsOfTheRange) {
  std::vector<float> row = {1000, -1000, 0, 999};
  EXPECT_NEAR(SoftmaxCrossEntropyRow(row.data(), 4, 1, 1), 2000 + std::log(1 + std::exp(-1.0)),
              1e-3);
  EXPECT_NEAR(row[1], -1, 1e-6);
  std::vector<float> padding = {1, 2, 3};
  EXPECT_EQ(SoftmaxCrossEntropyRow(padding.data(), 3, -1, 1), 0);
  EXPECT_EQ(padding, std::vector<float>(3));
}

TEST(FusedKernelsTest, NanStaysNan) {
  std::vector<float> row(40, 1.0f);
  row[20] = std::nanf("");
  EXPECT_TRUE(std::isnan(SoftmaxCrossEntropyRow(row.data(), 40, 3, 1)));
  std::vector<float> y(40);
  row.assign(40, 1.0f);
  row[33] = std::nanf("");
  GeluForward(row.data(), nullptr, y.data(), 40);
  EXPECT_TRUE(std::isnan(y[33]));
  EXPECT_FALSE(std::isnan(y[32]));
}

double Gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double Silu(double x) { return x / (1 + std::exp(-x)); }

struct ActivationCase {
  double (*formula)(double);
  void (*forward)(const float*, const float*, float*, std::int64_t);
  void (*backward)(const float*, const float*, const float*, float*, float*, std::int64_t);
};
const ActivationCase kActivations[] = {{Gelu, GeluForward, GeluBackward},
                                       {Silu, SiluForward, SiluBackward}};

TEST(FusedKernelsTest, ActivationsEqualTheirFormulasAndSlopes) {
  std::vector<float> x = Normal(1003, 4, 1);
  x[0] = 40;
  x[1] = -40;
  x[2] = 0;
  std::vector<float> y(x.size()), slope(x.size());
  const std::vector<float> ones(x.size(), 1.0f);
  const auto count = static_cast<std::int64_t>(x.size());
  for (const ActivationCase& activation : kActivations) {
    const auto f = activation.formula;
    activation.forward(x.data(), nullptr, y.data(), count);
    activation.backward(x.data(), nullptr, ones.data(), slope.data(), nullptr, count);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(y[i], f(x[i]), 2e-6 * (1 + std::abs(x[i])));
      EXPECT_NEAR(slope[i], (f(x[i] + 1e-5) - f(x[i] - 1e-5)) / 2e-5, 2e-5);
    }
  }
}

// In place, for every tail length.
TEST(FusedKernelsTest, ActivationsTakeAFactorAndGiveItsGradient) {
  for (const ActivationCase& activation : kActivations) {
    const auto f = activation.formula;
    for (std::size_t size = 1; size < 70; ++size) {
      const std::vector<float> x = Normal(size, 2, size);
      const std::vector<float> factor = Normal(size, 2, size + 100);
      const std::vector<float> grad = Normal(size, 2, size + 200);
      const auto count = static_cast<std::int64_t>(size);
      std::vector<float> y = x, grad_x = x, grad_factor = factor;
      activation.forward(y.data(), factor.data(), y.data(), count);
      activation.backward(grad_x.data(), grad_factor.data(), grad.data(), grad_x.data(),
                          grad_factor.data(), count);
      for (std::size_t i = 0; i < size; ++i) {
        const double slope = (f(x[i] + 1e-5) - f(x[i] - 1e-5)) / 2e-5;
        EXPECT_NEAR(y[i], f(x[i]) * factor[i], 1e-4);
        EXPECT_NEAR(grad_x[i], grad[i] * factor[i] * slope, 2e-3);
        EXPECT_NEAR(grad_factor[i], grad[i] * f(x[i]), 1e-3);
      }
    }
  }
}

// A norm of one row by its definition, in double.
std::vector<double> NormByDefinition(const std::vector<double>& x, const std::vector<float>& gain,
                                     const std::vector<float>& shift, bool centres) {
  const auto size = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += centres ? value / size : 0;
  double square = 0.01;
  for (const double value : x) square += (value - mean) * (value - mean) / size;
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(square) * gain[i] + (centres ? shift[i] : 0);
  }
  return y;
}

double WeightedSum(const std::vector<double>& values, const std::vector<float>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
  return sum;
}

TEST(FusedKernelsTest, NormsEqualTheirDefinitionAndFiniteDifferences) {
  for (const bool centres : {false, true}) {
    for (const std::size_t size : {1, 2, 7, 16, 33, 100}) {
      std::vector<float> x = Normal(size, 2, size);
      for (float& value : x) value += 3;
      std::vector<float> gain = Normal(size, 1, 1000 + size);
      std::vector<float> shift = Normal(size, 1, 2000 + size);
      const std::vector<float> grad = Normal(size, 1, 3000 + size);
      const auto count = static_cast<std::int64_t>(size);
      const RowNorm norm = {gain.data(), centres ? shift.data() : nullptr, 0.01f, centres};
      std::vector<float> y(size), grad_x(size, 5), grad_gain(size, 6), grad_shift(size, 7);
      const RowMoments moments = NormForward(norm, x.data(), y.data(), count);
      NormBackward(norm, moments, x.data(), grad.data(), grad_x.data(), count);
      NormWeightsBackward(moments, x.data(), grad.data(), grad_gain.data(),
                          centres ? grad_shift.data() : nullptr, count);
      const std::vector<double> wide(x.begin(), x.end());
      const std::vector<double> expected = NormByDefinition(wide, gain, shift, centres);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(y[i], expected[i], 1e-5 * (1 + std::abs(expected[i])));
        constexpr double kStep = 1e-5;
        std::vector<double> more = wide, less = wide;
        more[i] += kStep;
        less[i] -= kStep;
        const double slope = (WeightedSum(NormByDefinition(more, gain, shift, centres), grad) -
                              WeightedSum(NormByDefinition(less, gain, shift, centres), grad)) /
                             (2 * kStep);
        // Of one number alone the deviation is all epsilon's, and steep.
        EXPECT_NEAR(grad_x[i] - 5, slope, 1e-4 * (1 + std::abs(slope))) << size << " " << i;
        const double bare = (expected[i] - (centres ? shift[i] : 0)) / gain[i];
        EXPECT_NEAR(grad_gain[i] - 6, grad[i] * bare, 1e-5 * (1 + std::abs(bare)));
        EXPECT_NEAR(grad_shift[i] - 7, centres ? grad[i] : 0, 1e-5);
      }
    }
  }
}

// Each pair of a head turns as a complex number does; back by the opposite direction, in place.
TEST(FusedKernelsTest, HeadsTurnPairByPairAndBack) {
  constexpr std::size_t kHeads = 3;
  for (std::size_t half = 1; half < 40; ++half) {
    const std::vector<float> x = Normal(kHeads * 2 * half, 1, half);
    const std::vector<float> angles = Normal(half, 3, 100 + half);
    std::vector<float> cosines, sines;
    for (const float angle : angles) {
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
    std::vector<float> y(x.size());
    const auto half_width = static_cast<std::int64_t>(half);
    TurnHeads(x.data(), cosines.data(), sines.data(), 1, kHeads, half_width, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t in_head = i % (2 * half);
      if (in_head >= half) continue;
      const auto turned = std::complex<double>(x[i], x[i + half]) *
                          std::polar(1.0, static_cast<double>(angles[in_head]));
      EXPECT_NEAR(y[i], turned.real(), 1e-5);
      EXPECT_NEAR(y[i + half], turned.imag(), 1e-5);
    }
    TurnHeads(y.data(), cosines.data(), sines.data(), -1, kHeads, half_width, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], x[i], 1e-5);
  }
}

TEST(FusedKernelsTest, FloatsAreAdded) {
  for (std::size_t size = 1; size < 70; ++size) {
    const std::vector<float> x = Normal(size, 1, size);
    const std::vector<float> before = Normal(size, 1, 100 + size);
    std::vector<float> y = before;
    AddFloats(x.data(), y.data(), static_cast<std::int64_t>(size));
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(y[i], before[i] + x[i]);
  }
}

// The two bfloat16 numbers around a float are 2^16 of its own steps apart.
TEST(FusedKernelsTest, Bfloat16IsTheNearestWithTiesToEven) {
  std::vector<float> x = Normal(1003, 1e3, 2);
  for (const std::uint32_t bits :
       {0u, 0x80000000u, 0x3f808000u, 0x3f818000u, 0x3f807fffu, 0x3f808001u, 0x7f7f0000u,
        0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x00000001u, 0x00018000u}) {
    x.push_back(std::bit_cast<float>(bits));
  }
  std::vector<std::uint16_t> halves(x.size());
  std::vector<float> back(x.size());
  for (std::size_t count = x.size() - 40; count <= x.size(); ++count) {
    halves.assign(x.size(), 1);
    Bfloat16OfFloats(x.data(), halves.data(), static_cast<std::int64_t>(count));
    FloatsOfBfloat16(halves.data(), back.data(), static_cast<std::int64_t>(count));
    for (std::size_t i = 0; i < count; ++i) {
      const auto bits = std::bit_cast<std::uint32_t>(x[i]);
      const std::uint32_t below = bits >> 16;
      const std::uint32_t rest = bits & 0xffff;
      const bool up = rest > 0x8000 || (rest == 0x8000 && below % 2 == 1);
      ASSERT_EQ(halves[i], below + (up ? 1 : 0)) << x[i];
      ASSERT_EQ(std::bit_cast<std::uint32_t>(back[i]), static_cast<std::uint32_t>(halves[i]) << 16);
    }
    for (std::size_t i = count; i < x.size(); ++i) ASSERT_EQ(halves[i], 1) << "past the end";
  }
}

TEST(FusedKernelsTest, EveryNanIsANanInBfloat16) {
  const std::vector<float> nans = {std::bit_cast<float>(0x7fffffffu),
                                   std::bit_cast<float>(0xffffffffu),
                                   std::bit_cast<float>(0x7f800001u), std::nanf("")};
  std::vector<std::uint16_t> halves(nans.size());
  std::vector<float> back(nans.size());
  Bfloat16OfFloats(nans.data(), halves.data(), 4);
  FloatsOfBfloat16(halves.data(), back.data(), 4);
  for (const float value : back) EXPECT_TRUE(std::isnan(value));
}

}  // namespace fused_kernels_test
}  // namespace submix::train

#include "submix/divergence/softmax.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

#include "submix/base/check.h"
#include "submix/base/instruction_sets.h"
#include "submix/divergence/pmf.h"

namespace submix::divergence {
namespace {

// Sums and maxima run in this many lanes, whatever the processor, so that their order is fixed.
constexpr std::size_t kLanes = 32;
// A row is worked on in at most kBlocks blocks of a multiple of kBlockUnit logits: 1024 of them and
// their exponentials stay in the first-level cache.
constexpr std::size_t kBlockUnit = 1024;
constexpr std::size_t kBlocks = 512;

constexpr double kLog2E = 0x1.71547652b82fep0;
constexpr double kLeastNormal = std::numeric_limits<double>::min();

// 2^z for z <= 0 by 2^n times a polynomial in r = z - n, |r| <= 1/2; 0 below 2^-1021. Relative
// error below 2^-50.7: 2^-51.5 of the polynomial (minimax with constant term 1, by Remez' method),
// 2^-52 of its rounding. No branches: the compiler turns a loop of these into vector code, which it
// cannot do with std::exp2. NaN gives anything.
[[gnu::always_inline]] inline double ExpTwo(double z) {
  constexpr double kRoundToInteger = 0x1.8p52;
  const double shifted = z + kRoundToInteger;  // n sits in the last bits
  const double r = z - (shifted - kRoundToInteger);
  // Even and odd terms apart: two chains that do not wait for each other.
  const double square = r * r;
  double even = 0x1.e8b761c675c38p-28;
  double odd = 0x1.b689b4ad4f65fp-24;
  even = even * square + 0x1.62be68640a005p-20;
  odd = odd * square + 0x1.ffcb3f1b1dfa2p-17;
  even = even * square + 0x1.43091387c719ep-13;
  odd = odd * square + 0x1.5d87fea4a755ap-10;
  even = even * square + 0x1.3b2ab6fb8208ep-7;
  odd = odd * square + 0x1.c6b08d7039559p-5;
  even = even * square + 0x1.ebfbdff82c61fp-3;
  odd = odd * square + 0x1.62e42fefa3a28p-1;
  const double power = (even * square + odd * r) + 1.0;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  const double result = std::bit_cast<double>(std::bit_cast<std::uint64_t>(power) + exponent);
  return z < -1021.0 ? 0.0 : result;
}

// powers = 2^((logits - largest) * scale); returns their sum.
double PowersOfTwo(const float* logits, double largest, double scale, std::size_t size,
                   double* powers) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < size; ++i) {
      powers[i] = ExpTwo((static_cast<double>(logits[i]) - largest) * scale);
    }
    std::array<double, kLanes> sums{};
    std::size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += powers[i + lane];
    }
    for (; i < size; ++i) sums[0] += powers[i];
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return sums[0];
  });
}

void ScaleAndFlush(double factor, std::size_t size, double* values) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < size; ++i) {
      const double value = values[i] * factor;
      values[i] = value < kLeastNormal ? 0.0 : value;
    }
  });
}

}  // namespace

LargestLogit LargestOf(std::span<const float> row) {
  return base::RunVectorised([logits = row.data(), size = row.size()]() SUBMIX_VECTOR_LOOP {
    constexpr std::uint32_t kMagnitudeMask = 0x7fffffff;
    constexpr std::uint32_t kInfinityBits = 0x7f800000;
    std::array<float, kLanes> values;
    std::array<std::uint32_t, kLanes> magnitudes{};
    values.fill(logits[0]);
    std::size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const float value = logits[i + lane];
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & kMagnitudeMask;
        values[lane] = values[lane] < value ? value : values[lane];
        magnitudes[lane] = magnitudes[lane] < magnitude ? magnitude : magnitudes[lane];
      }
    }
    for (; i < size; ++i) {
      values[0] = std::max(values[0], logits[i]);
      magnitudes[0] =
          std::max(magnitudes[0], std::bit_cast<std::uint32_t>(logits[i]) & kMagnitudeMask);
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) {
        values[lane] = std::max(values[lane], values[lane + half]);
        magnitudes[lane] = std::max(magnitudes[lane], magnitudes[lane + half]);
      }
    }
    return LargestLogit{values[0], magnitudes[0] < kInfinityBits};
  });
}

bool Softmax(std::span<const float> logits, double temperature, std::span<double> pmf) {
  SUBMIX_CHECK(!logits.empty() && pmf.size() == logits.size(), "one probability for each logit");
  SUBMIX_CHECK(temperature > 0 && temperature <= std::numeric_limits<double>::max(),
               "temperature must be positive and finite");
  // Finite, so that the largest logit's 0 stays 0.
  const double scale = std::min(kLog2E / temperature, std::numeric_limits<double>::max());
  const std::size_t size = logits.size();
  const std::size_t block = ((size - 1) / (kBlockUnit * kBlocks) + 1) * kBlockUnit;
  // Logits come from memory once: every block is relative to its own largest logit at first.
  std::array<double, kBlocks> largest;
  std::array<double, kBlocks> sums;
  std::size_t num_blocks = 0;
  bool all_finite = true;
  for (std::size_t begin = 0; begin < size; begin += block, ++num_blocks) {
    const std::size_t count = std::min(block, size - begin);
    const LargestLogit of_block = LargestOf(logits.subspan(begin, count));
    all_finite &= of_block.all_finite;
    largest[num_blocks] = of_block.value;
    sums[num_blocks] =
        PowersOfTwo(logits.data() + begin, largest[num_blocks], scale, count, pmf.data() + begin);
  }
  const double largest_of_all = *std::max_element(largest.begin(), largest.begin() + num_blocks);
  CompensatedSum total;
  for (std::size_t i = 0; i < num_blocks; ++i) {
    largest[i] = ExpTwo((largest[i] - largest_of_all) * scale);  // now the block's factor
    total.Add(largest[i] * sums[i]);
  }
  const double inverse = 1 / total.value();
  for (std::size_t i = 0, begin = 0; i < num_blocks; ++i, begin += block) {
    ScaleAndFlush(largest[i] * inverse, std::min(block, size - begin), pmf.data() + begin);
  }
  return all_finite;
}

}  // namespace submix::divergence

#include "submix/mechanism/kernels/weight_kernels.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "submix/base/instruction_sets.h"

namespace submix::mechanism {
namespace {

// Adding it leaves the nearest integer in the lower bits of the mantissa.
constexpr double kRounder = 0x1.8p52;
constexpr auto kRounderBits = std::bit_cast<std::int64_t>(kRounder);
// An integer below 2^52 in the mantissa, and what it is then too much.
constexpr double kTwoTo52 = 0x1p52;
constexpr auto kTwoTo52Bits = std::bit_cast<std::uint64_t>(kTwoTo52);

struct Floor {
  double value;
  std::int64_t integer;
};
[[gnu::always_inline]] inline Floor FloorOf(double value) {
  const double biased = value + kRounder;
  const double nearest = biased - kRounder;
  const double above = nearest > value ? 1.0 : 0.0;
  const std::int64_t above_as_integer = nearest > value ? 1 : 0;
  return {nearest - above, std::bit_cast<std::int64_t>(biased) - kRounderBits - above_as_integer};
}

}  // namespace

double CheckedSum(const double* p, std::size_t count) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    constexpr std::size_t kWide = 4 * kLanes;  // additions that do not wait for each other
    double sums[kWide] = {};
    double least[kWide] = {};  // of the values and 0
    const std::size_t whole = count / kWide * kWide;
    for (std::size_t i = 0; i < whole; i += kWide) {
      for (std::size_t j = 0; j < kWide; ++j) {
        sums[j] += p[i + j];
        least[j] = p[i + j] < least[j] ? p[i + j] : least[j];
      }
    }
    for (std::size_t i = whole; i < count; ++i) {
      sums[i - whole] += p[i];
      least[i - whole] = p[i] < least[i - whole] ? p[i] : least[i - whole];
    }
    double sum = 0;
    bool is_negative = false;
    for (std::size_t j = 0; j < kWide; ++j) {
      sum += sums[j];
      is_negative = is_negative || least[j] < 0;
    }
    return is_negative ? std::numeric_limits<double>::quiet_NaN() : sum;
  });
}

void RaiseToLeast(double least, std::size_t count, double* values) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < least ? least : values[i];
  });
}

std::size_t LargestIndex(const double* p, std::size_t count) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    // Block by block, so that only one block is searched.
    std::size_t best = 0;
    double largest = p[0];
    for (std::size_t begin = 0; begin < count; begin += kBlockTokens) {
      const double* const end = p + std::min(begin + kBlockTokens, count);
      double most[kLanes];
      std::fill(most, most + kLanes, largest);
      const double* x = p + begin;
      for (; end - x >= static_cast<std::ptrdiff_t>(kLanes); x += kLanes) {
        for (std::size_t j = 0; j < kLanes; ++j) most[j] = x[j] > most[j] ? x[j] : most[j];
      }
      for (; x < end; ++x) most[0] = *x > most[0] ? *x : most[0];
      const double of_block = *std::max_element(most, most + kLanes);
      best = of_block > largest ? begin : best;
      largest = of_block;
    }
    return static_cast<std::size_t>(std::find(p + best, p + count, largest) - p);
  });
}

void FillShift(const double* first, const double* second, const double* room, double pmf_scale,
               double scale, std::size_t count, double* out) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = scale * (pmf_scale * (first[i] + second[i]) - room[i]);
    }
  });
}

std::int64_t FloorInPlace(double* values, std::int64_t* integers, std::size_t count) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Floor floor = FloorOf(values[i]);
      values[i] = floor.value;
      integers[i] = floor.integer;
      sum += floor.integer;
    }
    return sum;
  });
}

std::int64_t FloorToWeights(const double* p, double scale, std::size_t count,
                            std::uint64_t* weights) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t floor = FloorOf(scale * p[i]).integer;
      weights[i] = static_cast<std::uint64_t>(1 + floor);
      sum += floor;
    }
    return sum;
  });
}

double FillPublicFloors(const std::uint64_t* weights, double floor_fraction, double others,
                        std::size_t count, double* room, double* least_rest) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = std::bit_cast<double>(weights[i] | kTwoTo52Bits) - kTwoTo52;
      const double fraction = FloorOf(floor_fraction * weight).value;
      const double floor = fraction > 1.0 ? fraction : 1.0;
      room[i] = weight - floor;
      least_rest[i] = weight + others * floor;
    }
    // Whole numbers with a sum below 2^53: exact in any order.
    double sums[kLanes] = {};
    const std::size_t whole = count / kLanes * kLanes;
    for (std::size_t i = 0; i < whole; i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j) sums[j] += room[i + j];
    }
    double sum = 0;
    for (std::size_t i = whole; i < count; ++i) sum += room[i];
    for (const double lane : sums) sum += lane;
    return sum;
  });
}

void MultiplyWeights(std::uint64_t factor, std::size_t count, std::uint64_t* weights) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) weights[i] *= factor;
  });
}

void AddBoth(const double* first, const double* second, std::size_t count, double* sums) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) sums[i] += first[i] + second[i];
  });
}

std::int64_t FillLaw(const double* sums, const double* public_pmf, double members,
                     double public_model, std::size_t count, double* law, std::uint64_t* weights) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Floor floor = FloorOf(members * sums[i] + public_model * public_pmf[i]);
      law[i] = 1 + floor.value;
      weights[i] = static_cast<std::uint64_t>(1 + floor.integer);
      sum += floor.integer;
    }
    return sum;
  });
}

std::int64_t FillLawWithout(const double* sums, const double* first, const double* second,
                            const double* public_pmf, double members, double public_model,
                            std::size_t count, double* law) {
  return base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double difference = sums[i] - (first[i] + second[i]);
      const double others = difference > 0 ? difference : 0.0;
      const Floor floor = FloorOf(members * others + public_model * public_pmf[i]);
      law[i] = 1 + floor.value;
      sum += floor.integer;
    }
    return sum;
  });
}

void Subtract(const double* a, const double* b, std::size_t count, double* out) {
  base::RunVectorised([=]() SUBMIX_VECTOR_LOOP {
    for (std::size_t i = 0; i < count; ++i) out[i] = a[i] - b[i];
  });
}

}  // namespace submix::mechanism

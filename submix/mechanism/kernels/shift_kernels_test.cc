#include "submix/mechanism/kernels/shift_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/each_instruction_set.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/mechanism/testing/simulated_predictions.h"

namespace submix::mechanism {
namespace shift_kernels_test {

// A block of a part: everything that the kernels read.
struct Block {
  explicit Block(std::uint64_t seed) : den(kBlockTokens), shift(kBlockTokens), room(kBlockTokens) {
    const auto random = base::MakeSeededRandomSource(seed);
    first = RandomPmf(*random, kBlockTokens, 6);
    second = RandomPmf(*random, kBlockTokens, 6);
    third = RandomPmf(*random, kBlockTokens, 6);
    for (std::size_t x = 0; x < kBlockTokens; ++x) {
      den[x] = 1 + std::pow(2, 40 * NextUnit(*random));
      room[x] = std::floor(den[x] * NextUnit(*random) / 2);
      shift[x] = pmf_scale * (first[x] + second[x]) - room[x];
    }
  }
  MemberBlock members() const { return {first.data(), second.data(), room.data(), pmf_scale}; }
  PairBlock pair() const { return {third.data(), first.data(), second.data(), 0x1p48}; }

  double pmf_scale = 0x1p30;
  Pmf den;
  Pmf shift;
  Pmf room;
  Pmf first;
  Pmf second;
  Pmf third;
};

// What all kernels give for a block, byte for byte.
struct Results {
  DirectedLanes two, three, eighteen, sixty_four, infinite;
  MomentLanes moments;
  QuotientLanes quotients;
  std::int64_t sum = 0;
  double floors[kBlockTokens] = {};
  std::uint64_t weights[kBlockTokens] = {};
};

bool AreSame(const Results& a, const Results& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

void RunAll(const Block& block, Results& results) {
  const double* const den = block.den.data();
  const double* const shift = block.shift.data();
  AddOrderTwo(den, shift, kBlockTokens, results.two);
  AddIntegerOrder(3, den, shift, kBlockTokens, results.three);
  AddIntegerOrder(18, den, shift, kBlockTokens, results.eighteen);
  AddIntegerOrder(64, den, shift, kBlockTokens, results.sixty_four);
  MaxRatio(den, shift, kBlockTokens, results.infinite);
  AddMoments(den, block.members(), kBlockTokens, kMostMoments, kMostFallMoments, results.moments);
  results.sum = FillFloors(block.members(), .3, 509, results.floors);
  AddFloors(block.members(), .3, 509, results.weights);
  const double shares[kQuotientsAtATime] = {0, .3, .9, 1};
  AddQuotients(block.pair(), shares, kBlockTokens, results.quotients);
}

TEST(ShiftKernelsTest, GiveTheSameBitsWithEveryInstructionSet) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Block block(seed);
    Results expected;
    RunAll(block, expected);
    base::WithEachInstructionSet([&] {
      Results results;
      RunAll(block, results);
      EXPECT_TRUE(AreSame(expected, results));
    });
  }
}

double Sum(const double (&lanes)[kLanes]) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

TEST(AddMomentsTest, AddsThePowersOfTheRatios) {
  for (const std::size_t count : {16u, 32u, 496u, 512u}) {
    const Block block(count);
    MomentLanes lanes;
    AddMoments(block.den.data(), block.members(), count, kMostMoments, kMostFallMoments, lanes);
    std::vector<long double> all(kMostMoments, 0);
    std::vector<long double> falls(kMostFallMoments, 0);
    long double rise = 0;
    long double fall = 0;
    for (std::size_t x = 0; x < count; ++x) {
      const long double den = block.den[x];
      const long double t = block.shift[x] / den;
      for (int i = 0; i < kMostMoments; ++i) all[i] += den * std::pow(t, i + 2);
      if (t < 0) {
        for (int i = 0; i < kMostFallMoments; ++i) falls[i] += den * std::pow(-t, i + 2);
      }
      rise = std::max(rise, t);
      fall = std::max(fall, -t);
    }
    // The sums over all tokens alternate in sign; what counts is the error against the falls.
    for (int i = 0; i < kMostMoments; ++i) {
      const double size = static_cast<double>(std::abs(all[i])) + Sum(lanes.falls[0]);
      EXPECT_NEAR(Sum(lanes.all[i]), static_cast<double>(all[i]), 1e-13 * size) << i;
    }
    for (int i = 0; i < kMostFallMoments; ++i) {
      EXPECT_NEAR(Sum(lanes.falls[i]) / static_cast<double>(falls[i]), 1, 1e-13) << i;
    }
    EXPECT_NEAR(*std::max_element(lanes.steepest_rise, lanes.steepest_rise + kLanes),
                static_cast<double>(rise), 1e-14 * static_cast<double>(rise));
    EXPECT_NEAR(*std::max_element(lanes.steepest_fall, lanes.steepest_fall + kLanes),
                static_cast<double>(fall), 1e-14);
  }
}

TEST(AddQuotientsTest, DividesTheDistanceByEachMixture) {
  const Block block(8);
  const double shares[kQuotientsAtATime] = {0, .3, .9, 1};
  QuotientLanes lanes;
  AddQuotients(block.pair(), shares, kBlockTokens, lanes);
  for (int j = 0; j < kQuotientsAtATime; ++j) {
    long double sum = 0;
    for (std::size_t x = 0; x < kBlockTokens; ++x) {
      const long double base = 1 + 0x1p48L * block.third[x];
      const long double second = 1 + 0x1p48L * block.second[x];
      const long double distance = 0x1p48L * (block.first[x] - block.second[x]);
      sum += distance * distance / ((1 - shares[j]) * base + shares[j] * second);
    }
    EXPECT_NEAR(Sum(lanes.sums[j]) / static_cast<double>(sum), 1, 1e-13) << j;
  }
}

TEST(AddMomentsTest, AddsUpTheMembers) {
  Block block(7);
  block.second[100] = -.25;
  MomentLanes lanes;
  AddMoments(block.den.data(), block.members(), kBlockTokens, 3, 3, lanes);
  const auto sum_of = [](const Pmf& pmf) {
    double sum = 0;
    for (const double p : pmf) sum += p;
    return sum;
  };
  EXPECT_NEAR(Sum(lanes.first_sums[0]) + Sum(lanes.first_sums[1]), sum_of(block.first), 1e-14);
  EXPECT_NEAR(Sum(lanes.second_sums[0]) + Sum(lanes.second_sums[1]), sum_of(block.second), 1e-14);
  EXPECT_EQ(*std::min_element(lanes.least, lanes.least + kLanes), -.25);
}

}  // namespace shift_kernels_test
}  // namespace submix::mechanism

#include "submix/train/sampled_gaussian/gaussian_noise.h"

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/goodness_of_fit.h"
#include "submix/base/testing/seeded_random.h"

namespace submix::train {
namespace gaussian_noise_test {

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Serves given 64-bit words.
class Words final : public base::RandomSource {
 public:
  explicit Words(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  void Fill(std::span<std::byte> bytes) override {
    for (std::byte& byte : bytes) {
      const std::size_t word = next_ / 8 % words_.size();
      byte = static_cast<std::byte>(words_[word] >> (8 * (next_ % 8)));
      ++next_;
    }
  }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

TEST(GaussianNoiseTest, FollowsTheNormalLaw) {
  const auto random = base::MakeStatisticalRandomSource(1);
  GaussianNoise noise(*random);
  std::vector<double> sample(200000);
  for (double& value : sample) value = static_cast<double>(noise.Next());
  EXPECT_LT(base::KolmogorovScore(sample, NormalCdf, NormalCdf), 2.8);
}

TEST(GaussianNoiseTest, HasTheNormalMomentsAndIndependentDraws) {
  const auto random = base::MakeStatisticalRandomSource(2);
  GaussianNoise noise(*random);
  constexpr int kCount = 400000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  double neighbours = 0;
  double square_neighbours = 0;
  auto last = static_cast<double>(noise.Next());
  for (int i = 0; i < kCount; ++i) {
    const auto x = static_cast<double>(noise.Next());
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    neighbours += x * last;
    square_neighbours += (x * x - 1) * (last * last - 1);
    last = x;
  }
  const double n = kCount;
  const auto score = [&](double total, double mean, double variance) {
    return std::abs(total - n * mean) / std::sqrt(n * variance);
  };
  EXPECT_LT(score(sum, 0, 1), 5);
  EXPECT_LT(score(squares, 1, 2), 5);
  EXPECT_LT(score(fourth, 3, 96), 5);
  EXPECT_LT(score(neighbours, 0, 1), 5);
  EXPECT_LT(score(square_neighbours, 0, 4), 5);
}

TEST(GaussianNoiseTest, APairOfWordsIsARadiusAndAnAngle) {
  // u = 3/4, at an eighth and at three eighths of the circle.
  Words words({std::uint64_t{1} << 62, 0, std::uint64_t{1} << 61,  //
               std::uint64_t{1} << 62, 0, std::uint64_t{3} << 61});
  GaussianNoise noise(words);
  const long double radius = std::sqrt(-2 * std::log(0.75L));
  const long double leg = radius / std::numbers::sqrt2_v<long double>;
  // What Theorem 14 counts on; in double it would be 2^-53.
  const long double error = 0x1p-59L * radius;
  for (const long double expected : {leg, leg, -leg, leg}) {
    EXPECT_LT(std::abs(noise.Next() - expected), error);
  }
}

TEST(GaussianNoiseTest, TheTailGoesOnBeyondWhatDoublesOfOneWordReach) {
  // u = 2^-64 * (0 + 2^-65): the least there is, at angle 0.
  Words least({std::uint64_t{1} << 63, 0, 0});
  GaussianNoise noise(least);
  EXPECT_NEAR(static_cast<double>(noise.Next()), std::sqrt(2 * 129 * std::numbers::ln2), 1e-12);
  // The greatest u, 1 - 2^-129: close to zero, not zero.
  Words greatest({0, 0, 0});
  GaussianNoise centre(greatest);
  const auto draw = static_cast<double>(centre.Next());
  EXPECT_NEAR(draw / std::sqrt(2 * std::ldexp(1.0, -129)), 1, 1e-12);
}

}  // namespace gaussian_noise_test
}  // namespace submix::train

#include "submix/eval/attacks/skew_normal.h"

#include <cmath>
#include <vector>

#include <boost/math/distributions/gamma.hpp>
#include <boost/math/distributions/skew_normal.hpp>

#include "submix/base/testing/status_matchers.h"

namespace submix::eval {
namespace skew_normal_test {

// The likeliest parameters of quantiles of known laws, from SciPy 1.10 (skewnorm.logpdf, maximised
// by Nelder and Mead's method to 1e-10).
struct Fitted {
  double shape;
  double location;
  double scale;
  double log_likelihood;
};

template <typename Law>
std::vector<double> Quantiles(const Law& law, double shift, double factor) {
  std::vector<double> values;
  for (int i = 0; i < 400; ++i) {
    values.push_back(shift + factor * boost::math::quantile(law, (i + 0.5) / 400));
  }
  return values;
}

void ExpectFit(const std::vector<double>& values, const Fitted& expected) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SkewNormal law, FitSkewNormal(values));
  EXPECT_NEAR(law.shape, expected.shape, 1e-4 * std::abs(expected.shape));
  EXPECT_NEAR(law.location, expected.location, 1e-4 * expected.scale);
  EXPECT_NEAR(law.scale, expected.scale, 1e-4 * expected.scale);
  EXPECT_NEAR(LogLikelihood(law, values), expected.log_likelihood, 1e-8);
}

TEST(SkewNormalTest, FitsAreSciPys) {
  ExpectFit(Quantiles(boost::math::skew_normal(10, 2, 3), 0, 1),
            {3.020203489965111, 9.998418723239691, 1.9994313105175527, -657.7482797036166});
  ExpectFit(Quantiles(boost::math::gamma_distribution<>(4), 20, 5),
            {5.158539342011601, 27.47827928925739, 16.002687738482088, -1453.9230139644324});
  ExpectFit(Quantiles(boost::math::gamma_distribution<>(9), 0, -1),
            {-2.8500442364682472, -5.5675022929769495, 4.553594421517087, -991.6478363890478});
}

TEST(SkewNormalTest, NormalValuesFitWithoutSkew) {
  const auto values = Quantiles(boost::math::normal(3, 2), 0, 1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const SkewNormal law, FitSkewNormal(values));
  for (const double x : {0.0, 3.0, 6.0}) {
    EXPECT_NEAR(std::exp2(Log2Cdf(law, x)), boost::math::cdf(boost::math::normal(3, 2), x), 2e-3);
  }
  EXPECT_LT(LargestDifference(law, values), 5e-3);
}

// By SciPy's quadrature of the density relative to its value at z.
TEST(SkewNormalTest, TailsAreThoseOfTheIntegral) {
  const struct {
    double shape;
    double z;
    double log2_cdf;
  } kReferences[] = {
      {0, -1, -2.656032797424106},     {2, 0.5, -1.2922940965434195},
      {2, -0.5, -5.3003726717213056},  {2, -2, -21.601070727844977},
      {2, -10, -372.3003475716761},    {-3, -2, -4.457981277133247},
      {-3, -40, -1159.8046091506378},  {5, -6, -689.029736122969},
      {0.5, -35, -1115.8019285564915}, {0, -30, -655.4470056263212},
      {3, 1.5, -0.20691874415913641},
  };
  for (const auto& reference : kReferences) {
    const SkewNormal law = {5, 2, reference.shape};
    EXPECT_NEAR(Log2Cdf(law, 5 + 2 * reference.z), reference.log2_cdf,
                1e-9 * std::abs(reference.log2_cdf))
        << reference.shape << " " << reference.z;
  }
}

TEST(SkewNormalTest, WhatHasNoSpreadHasNoFit) {
  EXPECT_THAT(
      FitSkewNormal(std::vector<double>(100, 3.0)),
      base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("all the same")));
  EXPECT_THAT(FitSkewNormal(std::vector<double>{1, 2, 3}),
              base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("at least 8")));
}

}  // namespace skew_normal_test
}  // namespace submix::eval

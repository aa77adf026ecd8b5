#include "submix/eval/audits/binomial_bounds.h"

#include <boost/math/special_functions/beta.hpp>

#include "submix/base/check.h"

namespace submix::eval {
namespace {

void Check(const BinomialCount& count, double error) {
  SUBMIX_CHECK(count.trials >= 1 && count.successes >= 0 && count.successes <= count.trials,
               "successes: 0 to the number of trials");
  SUBMIX_CHECK(error > 0 && error < 1, "an error probability is between 0 and 1");
}

}  // namespace

double LowerBound(const BinomialCount& count, double error) {
  Check(count, error);
  if (count.successes == 0) return 0;
  return boost::math::ibeta_inv(static_cast<double>(count.successes),
                                static_cast<double>(count.trials - count.successes + 1), error);
}

double UpperBound(const BinomialCount& count, double error) {
  Check(count, error);
  if (count.successes == count.trials) return 1;
  return boost::math::ibetac_inv(static_cast<double>(count.successes + 1),
                                 static_cast<double>(count.trials - count.successes), error);
}

double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability) {
  SUBMIX_CHECK(trials >= 0 && probability >= 0 && probability <= 1, "binomial out of range");
  if (successes <= 0) return 1;
  if (successes > trials) return 0;
  return boost::math::ibeta(static_cast<double>(successes),
                            static_cast<double>(trials - successes + 1), probability);
}

}  // namespace submix::eval

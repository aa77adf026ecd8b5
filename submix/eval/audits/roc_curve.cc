#include "submix/eval/audits/roc_curve.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <boost/math/distributions/binomial.hpp>

#include "submix/base/check.h"

namespace submix::eval {
namespace {

void Check(const BinomialCount& count, double error) {
  SUBMIX_CHECK(count.trials >= 1 && count.successes >= 0 && count.successes <= count.trials,
               "successes: 0 to the number of trials");
  SUBMIX_CHECK(error > 0 && error < 1, "an error probability is between 0 and 1");
}

std::vector<double> Descending(std::span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  return sorted;
}

}  // namespace

double LowerBound(const BinomialCount& count, double error) {
  Check(count, error);
  return boost::math::binomial::find_lower_bound_on_p(static_cast<double>(count.trials),
                                                      static_cast<double>(count.successes), error);
}

double UpperBound(const BinomialCount& count, double error) {
  Check(count, error);
  return boost::math::binomial::find_upper_bound_on_p(static_cast<double>(count.trials),
                                                      static_cast<double>(count.successes), error);
}

double BinomialUpperTail(std::int64_t successes, std::int64_t trials, double probability) {
  SUBMIX_CHECK(trials >= 0 && probability >= 0 && probability <= 1, "binomial out of range");
  if (successes <= 0) return 1;
  if (successes > trials) return 0;
  const boost::math::binomial law(static_cast<double>(trials), probability);
  return boost::math::cdf(boost::math::complement(law, static_cast<double>(successes - 1)));
}

RocCurve::RocCurve(std::span<const double> with, std::span<const double> without)
    : with_(std::ssize(with)), without_(std::ssize(without)) {
  SUBMIX_CHECK(!with.empty() && !without.empty(), "a curve needs scores of both worlds");
  const std::vector<double> positives = Descending(with);
  const std::vector<double> negatives = Descending(without);
  points_.push_back({0, 0});
  std::size_t p = 0;
  std::size_t n = 0;
  while (p < positives.size() || n < negatives.size()) {
    const double score = n == negatives.size()   ? positives[p]
                         : p == positives.size() ? negatives[n]
                                                 : std::max(positives[p], negatives[n]);
    while (p < positives.size() && positives[p] >= score) ++p;
    while (n < negatives.size() && negatives[n] >= score) ++n;
    const RocPoint point = {static_cast<double>(n) / static_cast<double>(negatives.size()),
                            static_cast<double>(p) / static_cast<double>(positives.size())};
    area_ += (point.false_positives - points_.back().false_positives) *
             (point.true_positives + points_.back().true_positives) / 2;
    advantage_ = std::max(advantage_, point.true_positives - point.false_positives);
    points_.push_back(point);
  }
}

double RocCurve::TruePositivesAt(double false_positives) const {
  // The last point that does not exceed the rate: of several the highest.
  const auto next =
      std::ranges::upper_bound(points_, false_positives, {}, &RocPoint::false_positives);
  if (next == points_.begin()) return 0;
  const RocPoint& low = *(next - 1);
  if (next == points_.end()) return low.true_positives;
  const double share =
      (false_positives - low.false_positives) / (next->false_positives - low.false_positives);
  return low.true_positives + share * (next->true_positives - low.true_positives);
}

double RocCurve::SureTruePositivesAt(double false_positives, double error) const {
  double sure = 0;
  for (const RocPoint& point : points_) {
    const auto count = [](double rate, std::int64_t trials) {
      return BinomialCount{std::llround(rate * static_cast<double>(trials)), trials};
    };
    if (UpperBound(count(point.false_positives, without_), error / 2) > false_positives) break;
    sure = LowerBound(count(point.true_positives, with_), error / 2);
  }
  return sure;
}

}  // namespace submix::eval

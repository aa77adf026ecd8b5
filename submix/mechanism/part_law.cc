#include "submix/mechanism/part_law.h"

#include <cmath>

#include "submix/base/check.h"
#include "submix/divergence/pmf.h"
#include "submix/mechanism/quantise.h"
#include "submix/mechanism/weight_kernels.h"

namespace submix::mechanism {
namespace {

// False for NaN, CheckedSum's word for a value that is no probability.
bool SumsToOne(double sum) { return std::abs(sum - 1) <= divergence::kPmfSumTolerance; }

}  // namespace

base::Status CheckPublicPmf(std::span<const double> public_pmf) {
  if (IsPmf(public_pmf)) return base::OkStatus();
  return base::InvalidArgumentError(
      "the public model's predictions: expected probabilities that sum to 1");
}

PartPmf::PartPmf(const PartPredictions& predictions)
    : first_(predictions.public_pmf), second_(predictions.public_pmf) {
  sum_ = 2 * CheckedSum(first_.data(), first_.size());
}

PartPmf::PartPmf(const PartPredictions& predictions, int part)
    : first_(predictions.member(part, 0)),
      second_(predictions.member(part, predictions.halves - 1)) {
  const double first_sum = CheckedSum(first_.data(), first_.size());
  const double second_sum =
      predictions.halves == 1 ? first_sum : CheckedSum(second_.data(), second_.size());
  if (!SumsToOne(first_sum) || !SumsToOne(second_sum)) {
    *this = PartPmf(predictions);
    return;
  }
  sum_ = first_sum + second_sum;
}

void PartPmf::AddTo(std::span<std::uint64_t> weights, std::int64_t total,
                    std::size_t remainder_token) const {
  SUBMIX_CHECK(weights.size() == first_.size() && remainder_token < first_.size(),
               "weights of another support");
  SUBMIX_CHECK(total >= 0 && total <= std::int64_t{1} << 52, "a total out of range");
  // The error of the sums and of each product is below (V + 8) 2^-53 of the total.
  const double margin = static_cast<double>(first_.size() + 8) * 0x1p-51;
  const double scale = static_cast<double>(total) * (1 - margin) / sum_;
  std::int64_t rest = total;
  for (std::size_t x = 0; x < first_.size(); ++x) {
    const auto weight = static_cast<std::int64_t>(scale * (first_[x] + second_[x]));
    weights[x] += static_cast<std::uint64_t>(weight);
    rest -= weight;
  }
  SUBMIX_CHECK(rest >= 0, "rounding down cannot add weight");
  weights[remainder_token] += static_cast<std::uint64_t>(rest);
}

std::size_t PartPmf::TopToken() const {
  std::size_t top = 0;
  double largest = -1;
  for (std::size_t x = 0; x < first_.size(); ++x) {
    const double probability = first_[x] + second_[x];
    if (probability > largest) {
      largest = probability;
      top = x;
    }
  }
  return top;
}

}  // namespace submix::mechanism

// What one part says about the next token, and the same as whole numbers with a public sum, for
// mechanisms that add the parts' laws as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "submix/mechanism/part_predictions.h"

namespace submix::mechanism {

// The mean of two pmfs. A view.
class PartPmf {
 public:
  // Part i's: of its member twice, or of its two halves. If one of them is not a pmf the part is
  // null for this token: the public pmf. Requires: CheckPublicPmf(predictions.public_pmf).
  PartPmf(const PartPredictions& predictions, int part);
  // What stands in for a part that sits out: the public pmf.
  explicit PartPmf(const PartPredictions& predictions);

  // weights += whole numbers >= 0 with sum `total`: floor(total * pmf), and what rounding down
  // leaves on `remainder_token`. Requires: 0 <= total <= 2^50, sizes of the support, which has at
  // most 2^32 tokens.
  void AddTo(std::span<std::uint64_t> weights, std::int64_t total,
             std::size_t remainder_token) const;
  // The token of the largest probability, the first one.
  std::size_t TopToken() const;

 private:
  std::span<const double> first_;
  std::span<const double> second_;
  double sum_;  // of both
};

}  // namespace submix::mechanism

#include "submix/mechanism/operator_view.h"

#include "submix/base/check.h"

namespace submix::mechanism {

double OperatorView::Probability(const PrivateMixture& mixture, std::size_t support_index) {
  SUBMIX_CHECK(support_index < mixture.weights_.size(), "no such token in the support");
  return static_cast<double>(mixture.weights_[support_index]) / static_cast<double>(mixture.total_);
}

std::size_t OperatorView::Draw(const PrivateMixture& mixture, base::RandomSource& random) {
  return mixture.Draw(random);
}

}  // namespace submix::mechanism

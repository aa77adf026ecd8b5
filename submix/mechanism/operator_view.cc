#include "submix/mechanism/operator_view.h"

#include <utility>

#include "submix/base/check.h"

namespace submix::mechanism {

std::vector<bool> OperatorView::Participants(const Mechanism& mechanism, std::vector<bool> paid) {
  return mechanism.is_private() ? std::move(paid) : std::vector<bool>(paid.size(), true);
}

double OperatorView::Probability(const PrivateMixture& mixture, std::size_t support_index) {
  SUBMIX_CHECK(support_index < mixture.weights_.size(), "no such token in the support");
  return static_cast<double>(mixture.weights_[support_index]) / static_cast<double>(mixture.total_);
}

base::StatusOr<std::unique_ptr<Proposal>> OperatorView::Open(
    PrivateScreen&& screen, base::RandomSource& random,
    std::span<const accounting::FixedNats> remaining, base::ReleaseId next) {
  const PrivateScreen taken = std::move(screen);
  SUBMIX_CHECK(taken.comparison_ != nullptr, "a screen is opened once");
  return (*taken.comparison_)(random, remaining, next);
}

std::size_t OperatorView::Draw(const PrivateMixture& mixture, base::RandomSource& random) {
  return mixture.Draw(random);
}

}  // namespace submix::mechanism

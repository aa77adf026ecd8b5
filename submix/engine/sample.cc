#include "submix/engine/sample.h"

#include <utility>

namespace submix::engine {
namespace {

// Says nothing of the numbers: each is a single part's.
base::Status Refuse(const char* why) {
  return base::InternalError(std::string("no token without its paid charge: ") + why);
}

// The receipt was made for this release (a mixture or a screen), by exactly the parts that it is
// made of. A part that pays zero and one that sits out are the same to both.
template <typename Release>
base::Status CheckPaid(const Release& release, const ledger::Receipt& receipt) {
  if (!receipt.is_valid()) return Refuse("the receipt has been used");
  if (receipt.release_id() != release.release_id()) {
    return Refuse("the receipt is another release's");
  }
  if (receipt.charges() != release.charges()) {
    return Refuse("the receipt is for other charges than the release's");
  }
  return base::OkStatus();
}

}  // namespace

base::StatusOr<std::size_t> Sample(mechanism::PrivateMixture&& mixture, ledger::Receipt&& receipt,
                                   base::RandomSource& random) {
  const mechanism::PrivateMixture taken_mixture = std::move(mixture);
  const ledger::Receipt taken_receipt = std::move(receipt);
  SUBMIX_RETURN_IF_ERROR(CheckPaid(taken_mixture, taken_receipt));
  if (taken_mixture.weights_.empty()) return Refuse("the mixture has been used");
  return taken_mixture.Draw(random);
}

base::StatusOr<std::unique_ptr<mechanism::Proposal>> OpenScreen(
    mechanism::PrivateScreen&& screen, ledger::Receipt&& receipt, base::RandomSource& random,
    std::span<const accounting::FixedNats> remaining, base::ReleaseId next) {
  const mechanism::PrivateScreen taken_screen = std::move(screen);
  const ledger::Receipt taken_receipt = std::move(receipt);
  SUBMIX_RETURN_IF_ERROR(CheckPaid(taken_screen, taken_receipt));
  if (taken_screen.comparison_ == nullptr) return Refuse("the screen has been used");
  return (*taken_screen.comparison_)(random, remaining, next);
}

}  // namespace submix::engine

#include "submix/engine/sample.h"

#include <utility>

namespace submix::engine {
namespace {

// Says nothing of the numbers: each is a single part's.
base::Status Refuse(const char* why) {
  return base::InternalError(std::string("no token without its paid charge: ") + why);
}

// The receipt was made for this release, by exactly the parts that the mixture is made of. A part
// that pays zero and one that sits out are the same to both.
base::Status CheckPaid(const mechanism::PrivateMixture& mixture, const ledger::Receipt& receipt) {
  if (!receipt.is_valid()) return Refuse("the receipt has been used");
  if (receipt.release_id() != mixture.release_id()) {
    return Refuse("the receipt is another release's");
  }
  if (receipt.charges() != mixture.charges()) {
    return Refuse("the receipt is for other charges than the mixture's");
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

}  // namespace submix::engine

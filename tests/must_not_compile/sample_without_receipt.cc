// Compiled by tests/must_not_compile/compile.cmake: as it stands it must compile; with -DMISUSE=n
// it must not. Each misuse would be a token, or a look at the ensemble, that nobody paid for.
#include <cstdint>
#include <utility>
#include <vector>

#include "submix/engine/sample.h"

namespace submix {

using accounting::FixedNats;
using base::ReleaseId;

#ifndef MISUSE
#define MISUSE 0
#endif

base::StatusOr<std::size_t> DrawToken(mechanism::PrivateMixture mixture, ledger::Receipt receipt,
                                      base::RandomSource& random) {
#if MISUSE == 0
  return engine::Sample(std::move(mixture), std::move(receipt), random);
#elif MISUSE == 1   // no receipt
  return engine::Sample(std::move(mixture), random);
#elif MISUSE == 2   // a receipt out of nothing
  return engine::Sample(std::move(mixture), ledger::Receipt(), random);
#elif MISUSE == 3   // one payment, two tokens
  ledger::Receipt copy = receipt;
  return engine::Sample(std::move(mixture), std::move(copy), random);
#elif MISUSE == 4   // a receipt that stays good
  return engine::Sample(std::move(mixture), receipt, random);
#elif MISUSE == 5   // a receipt made by hand
  return engine::Sample(std::move(mixture), ledger::Receipt(ReleaseId(), {}, {}, 1), random);
#elif MISUSE == 6   // a void receipt made good
  receipt.valid_ = true;
  return engine::Sample(std::move(mixture), std::move(receipt), random);
#elif MISUSE == 7   // the probabilities themselves
  return static_cast<std::size_t>(mixture.weights_[0]);
#elif MISUSE == 8   // past the check
  return mixture.Draw(random);
#elif MISUSE == 9   // one release, two draws
  mechanism::PrivateMixture copy = mixture;
  return engine::Sample(std::move(copy), std::move(receipt), random);
#elif MISUSE == 10  // a mixture that says it is free
  mixture.charges_.clear();
  return engine::Sample(std::move(mixture), std::move(receipt), random);
#endif
}

base::StatusOr<std::unique_ptr<mechanism::Proposal>> OpenComparison(mechanism::PrivateScreen screen,
                                                                    ledger::Receipt receipt,
                                                                    base::RandomSource& random) {
#if MISUSE == 11  // a comparison that nobody paid for
  return (*screen.comparison_)(random, {}, ReleaseId());
#elif MISUSE == 12  // one payment, two looks
  mechanism::PrivateScreen copy = screen;
  return engine::OpenScreen(std::move(copy), std::move(receipt), random, {}, ReleaseId());
#else
  return engine::OpenScreen(std::move(screen), std::move(receipt), random, {}, ReleaseId());
#endif
}

}  // namespace submix

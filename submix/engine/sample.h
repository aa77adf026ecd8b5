// The one way from a private mixture to a token (design contract 1). It is compiled once, declared
// a friend by PrivateMixture, and wants the receipt of the very charges that the mixture costs.
#pragma once

#include <cstddef>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ledger/receipt.h"
#include "submix/mechanism/private_mixture.h"

namespace submix::engine {

// Draws one index into the mixture's support, exactly by its integer weights (proofs.md T11). Uses
// up mixture and receipt whatever comes of it: one receipt, one draw; a second try pays anew.
// Errors: kInternal, with nothing drawn, if the receipt is void or the two do not belong together
// (another release, other charges) or the mixture is used up: a bug of ours, or an attack.
base::StatusOr<std::size_t> Sample(mechanism::PrivateMixture&& mixture, ledger::Receipt&& receipt,
                                   base::RandomSource& random);

}  // namespace submix::engine

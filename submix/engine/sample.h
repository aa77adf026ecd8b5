// The one way from a private mixture to a token, and from a private screen to its answer (design
// contract 1). Both are compiled once, declared friends by what they open, and want the receipt of
// the very charges that it costs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ledger/receipt.h"
#include "submix/mechanism/mechanism.h"
#include "submix/mechanism/private_mixture.h"
#include "submix/mechanism/private_screen.h"

namespace submix::engine {

// Draws one index into the mixture's support, exactly by its integer weights (Theorem 4). Uses
// up mixture and receipt whatever comes of it: one receipt, one draw; a second try pays anew.
// Errors: kInternal, with nothing drawn, if the receipt is void or the two do not belong together
// (another release, other charges) or the mixture is used up: a bug of ours, or an attack.
base::StatusOr<std::size_t> Sample(mechanism::PrivateMixture&& mixture, ledger::Receipt&& receipt,
                                   base::RandomSource& random);

// Draws the screen's noise and returns what it leads to: the proposal of the token, released as
// `next`, under the budgets that `remaining` after the screen. Uses up screen and receipt. Errors:
// kInternal as for Sample.
base::StatusOr<std::unique_ptr<mechanism::Proposal>> OpenScreen(
    mechanism::PrivateScreen&& screen, ledger::Receipt&& receipt, base::RandomSource& random,
    std::span<const accounting::FixedNats> remaining, base::ReleaseId next);

}  // namespace submix::engine

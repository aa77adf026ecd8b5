// A noisy comparison of the ensemble with the public model, sealed until its charge is paid: noise
// is drawn, and the answer known, only against a Receipt for exactly these charges (Theorem 8:
// charge first, then fresh noise).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"

namespace submix::ledger {
class Receipt;
}

namespace submix::mechanism {
class PrivateScreen;
class Proposal;
}  // namespace submix::mechanism

namespace submix::engine {
// Declared in submix/engine/sample.h.
base::StatusOr<std::unique_ptr<mechanism::Proposal>> OpenScreen(
    mechanism::PrivateScreen&& screen, ledger::Receipt&& receipt, base::RandomSource& random,
    std::span<const accounting::FixedNats> remaining, base::ReleaseId next);
}  // namespace submix::engine

namespace submix::mechanism {

// Move-only value; a moved-from screen is empty and cannot be opened.
class PrivateScreen {
 public:
  // Draws the noise, compares, and proposes the token: from the public model alone, or from the
  // ensemble. `remaining` is after the screen's own charge.
  using Comparison = std::function<base::StatusOr<std::unique_ptr<Proposal>>(
      base::RandomSource& random, std::span<const accounting::FixedNats> remaining,
      base::ReleaseId next)>;

  // `charges` [K]: what each part must have paid, zero for parts that sit out.
  PrivateScreen(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                Comparison comparison)
      : release_id_(release_id),
        charges_(std::move(charges)),
        comparison_(std::make_unique<const Comparison>(std::move(comparison))) {}
  PrivateScreen(PrivateScreen&&) noexcept = default;
  PrivateScreen& operator=(PrivateScreen&&) noexcept = default;

  base::ReleaseId release_id() const { return release_id_; }
  const std::vector<accounting::FixedNats>& charges() const { return charges_; }

 private:
  friend base::StatusOr<std::unique_ptr<Proposal>> engine::OpenScreen(
      PrivateScreen&&, ledger::Receipt&&, base::RandomSource&,
      std::span<const accounting::FixedNats>, base::ReleaseId);
  friend class OperatorView;

  base::ReleaseId release_id_;
  std::vector<accounting::FixedNats> charges_;  // [K]
  std::unique_ptr<const Comparison> comparison_;
};

}  // namespace submix::mechanism

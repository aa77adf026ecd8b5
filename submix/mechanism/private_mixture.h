// The pmf that a token is drawn from, as exact integers (Theorem 4), sealed: the only way from
// it to a token is engine::Sample, which wants a Receipt for exactly these charges.
#pragma once

#include <cstdint>
#include <vector>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/ids.h"
#include "submix/base/random.h"
#include "submix/base/status.h"

namespace submix::ledger {
class Receipt;
}

namespace submix::mechanism {
class PrivateMixture;
}

namespace submix::engine {
// Declared in submix/engine/sample.h.
base::StatusOr<std::size_t> Sample(mechanism::PrivateMixture&& mixture, ledger::Receipt&& receipt,
                                   base::RandomSource& random);
}  // namespace submix::engine

namespace submix::mechanism {

// Move-only value; a moved-from mixture is empty and cannot be sampled.
class PrivateMixture {
 public:
  // `weights` [V]: token x of the support is drawn with probability weights[x] / sum. `charges`
  // [K]: what each part must have paid, zero for parts that sit out. Requires: 0 < sum < 2^63.
  PrivateMixture(base::ReleaseId release_id, std::vector<std::uint64_t> weights,
                 std::vector<accounting::FixedNats> charges);
  PrivateMixture(PrivateMixture&&) noexcept = default;
  PrivateMixture& operator=(PrivateMixture&&) noexcept = default;

  base::ReleaseId release_id() const { return release_id_; }
  const std::vector<accounting::FixedNats>& charges() const { return charges_; }

 private:
  friend base::StatusOr<std::size_t> engine::Sample(PrivateMixture&&, ledger::Receipt&&,
                                                    base::RandomSource&);
  friend class OperatorView;

  // Index into the support, by one exact integer draw. Requires: not moved from.
  std::size_t Draw(base::RandomSource& random) const;

  base::ReleaseId release_id_;
  std::vector<std::uint64_t> weights_;  // [V]
  std::uint64_t total_ = 0;
  std::vector<accounting::FixedNats> charges_;  // [K]
};

}  // namespace submix::mechanism

#include "submix/engine/ledger_view.h"

#include <limits>

#include "submix/mechanism/baselines/constant_charge.h"

namespace submix::engine {

std::int64_t SureAnswers(const ledger::Account& account, double target_leakage) {
  // No mechanism charges more. As doubles, 2 nats of 2 / 93 nats each are 92 answers.
  const auto most = accounting::FixedNats::RoundDown(target_leakage);
  if (most == accounting::FixedNats()) return std::numeric_limits<std::int64_t>::max();
  return mechanism::MostAnswers(account.budget - account.spent, most);
}

}  // namespace submix::engine

#include "submix/engine/ledger_view.h"

namespace submix::engine {

std::int64_t SureAnswers(const ledger::Account& account, double target_leakage) {
  const double remaining = (account.budget - account.spent).ToNatsRoundedUp();
  return static_cast<std::int64_t>(remaining / target_leakage);
}

}  // namespace submix::engine

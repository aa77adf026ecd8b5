// A ledger that forgets: for tests and for the operator's simulated deployments in `evaluate` and
// `attack`. A deployment never uses it.
#pragma once

#include <memory>
#include <vector>

#include "submix/ledger/ledger.h"

namespace submix::ledger {

// num_parts accounts "part 0" … with this budget each.
std::unique_ptr<Ledger> MakeMemoryLedger(int num_parts, accounting::FixedNats budget);

}  // namespace submix::ledger

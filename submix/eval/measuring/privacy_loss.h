// What AdaPMixED's privacy loss is made of, as in its paper's table: the answers, the screen, and
// the conversion to (epsilon, delta).
#pragma once

#include <optional>

#include "submix/base/status.h"
#include "submix/eval/measuring/evaluation.h"

namespace submix::eval {

struct PrivacyLoss {
  double answers = 0;     // nats at the setting's order, of the part that spent most
  double screen = 0;      // the same: every query is screened
  double conversion = 0;  // what (epsilon, delta) adds
  double delta = 1e-5;

  double epsilon() const { return answers + screen + conversion; }
};

// None for a mechanism without a screen of this kind. Errors: those of the conversion.
base::StatusOr<std::optional<PrivacyLoss>> PrivacyLossOf(const SettingResult& result);

}  // namespace submix::eval

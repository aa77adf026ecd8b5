// What the operator may expect of a deployment's answers, from its declaration and from how much
// its members have read: the law of expected_share.h. Experience, not a promise. It looks at how
// much text there is: for the operator alone.
#pragma once

#include <optional>
#include <string>

#include "submix/ensemble/manifest.h"
#include "submix/eval/measuring/measured_model.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::eval {

struct ExpectedAnswers {
  // Of what fine-tuning without privacy gains. None: nothing like it was measured.
  std::optional<double> kept = {};
  std::string sentence = "";  // without an end; empty: nothing is known
};

// `declared` as a deployment has it: with its target leakage and parts. `model` is that which the
// public model is like. Errors: those of DClip::Create.
base::StatusOr<ExpectedAnswers> ExpectAnswers(const ensemble::Manifest& manifest,
                                              const mechanism::MechanismOptions& declared,
                                              std::optional<MeasuredModel> model);

}  // namespace submix::eval

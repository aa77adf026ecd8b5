// The law of the next token as an attack meets it: of one model, served as it is, or of a mechanism
// under a budget of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::eval {

// One thread at a time.
class TokenLaw {
 public:
  virtual ~TokenLaw() = default;

  // One query: logits [rows, V] as a predictor gives them, row 0 the public model; writes the
  // probability of every token, [V]. Errors: kInternal if the logits that count are not finite; the
  // mechanism's.
  virtual base::Status Next(std::span<const float> logits, std::span<double> pmf) = 0;
  // As if nothing had been asked yet: a fresh budget.
  virtual base::Status Renew() = 0;
};

// One row of the predictor: 0 the public model, 1 + m member m.
std::unique_ptr<TokenLaw> MakeRowLaw(std::size_t row);

// A mechanism over the first options.num_parts * halves members, which answers as a deployment with
// a budget of `epsilon` would; when it is used up, from the public model. Errors: kInvalidArgument
// for options out of range or too few halves.
base::StatusOr<std::unique_ptr<TokenLaw>> MakeMechanismLaw(
    const mechanism::MechanismOptions& options, double epsilon, int halves, std::uint64_t seed);

}  // namespace submix::eval

// Errors of the engine as Python's exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "submix/base/status.h"

namespace submix::python {

// submix.Error in Python.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws what Python sees as ValueError (kInvalidArgument), FileNotFoundError (kNotFound) or
// submix.Error (all others), with the status's message. Requires: the interpreter's lock.
void RaiseIfError(const base::Status& status);
[[noreturn]] void RaiseTypeError(const std::string& message);

template <typename Value>
Value ValueOrRaise(base::StatusOr<Value> result) {
  if (!result.ok()) RaiseIfError(result.status());
  return *std::move(result);
}

}  // namespace submix::python

#include "submix/python/raise_status.h"

#include <pybind11/pybind11.h>

namespace submix::python {

void RaiseIfError(const base::Status& status) {
  if (status.ok()) return;
  if (status.code() == base::StatusCode::kInvalidArgument) {
    throw pybind11::value_error(status.message());
  }
  if (status.code() == base::StatusCode::kNotFound) {
    PyErr_SetString(PyExc_FileNotFoundError, status.message().c_str());
    throw pybind11::error_already_set();
  }
  throw Error(status.message());
}

void RaiseTypeError(const std::string& message) { throw pybind11::type_error(message); }

}  // namespace submix::python

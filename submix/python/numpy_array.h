// Arrays for Python, made by NumPy itself: a module that is compiled for NumPy 1 can read the
// arrays of NumPy 2, and not make them.
#pragma once

#include <span>

#include <pybind11/pybind11.h>

namespace submix::python {

// A copy, one-dimensional and writable. `dtype` is NumPy's name of Number. Requires: the
// interpreter's lock.
template <typename Number>
pybind11::object NumpyArray(std::span<const Number> numbers, const char* dtype) {
  const pybind11::bytes bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes());
  const auto numpy = pybind11::module_::import("numpy");
  return numpy.attr("frombuffer")(bytes, dtype).attr("copy")();
}

}  // namespace submix::python

#include <pybind11/pybind11.h>

#include "submix/accounting/rdp_conversion.h"
#include "submix/divergence/renyi_order.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using accounting::ConversionKind;
using divergence::RenyiOrder;

accounting::RdpBound Bound(double rdp, double order) {
  return {ValueOrRaise(RenyiOrder::Create(order)), rdp};
}

ConversionKind Kind(bool classic) {
  return classic ? ConversionKind::kClassic : ConversionKind::kImproved;
}

double Epsilon(double rdp, double order, double delta, bool classic) {
  return ValueOrRaise(accounting::EpsilonForDelta(Bound(rdp, order), delta, Kind(classic)));
}

double Delta(double rdp, double order, double epsilon, bool classic) {
  return ValueOrRaise(accounting::DeltaForEpsilon(Bound(rdp, order), epsilon, Kind(classic)));
}

double Rdp(double epsilon, double delta, double order, bool classic) {
  return ValueOrRaise(accounting::RdpForEpsilon(ValueOrRaise(RenyiOrder::Create(order)),
                                                {epsilon, delta}, Kind(classic)));
}

}  // namespace

void BindAccounting(py::module_& module) {
  py::module_ accounting = module.def_submodule(
      "accounting", "Between Renyi differential privacy and (epsilon, delta). All in nats.");
  accounting.def("epsilon", &Epsilon, py::arg("rdp"), py::arg("order"), py::arg("delta"),
                 py::kw_only(), py::arg("classic") = false,
                 "The least epsilon of a guarantee of `rdp` nats at `order` (> 1 or inf) at this "
                 "delta in (0, 1); by the improved conversion (arXiv 2004.00010), or Mironov's "
                 "with classic=True. ValueError out of range.");
  accounting.def("delta", &Delta, py::arg("rdp"), py::arg("order"), py::arg("epsilon"),
                 py::kw_only(), py::arg("classic") = false,
                 "The least delta of the same guarantee at this epsilon >= 0.");
  accounting.def("rdp", &Rdp, py::arg("epsilon"), py::arg("delta"), py::arg("order"), py::kw_only(),
                 py::arg("classic") = false,
                 "What a budget at `order` may be for this promise: the most nats whose epsilon at "
                 "delta is not above it.");
}

}  // namespace submix::python

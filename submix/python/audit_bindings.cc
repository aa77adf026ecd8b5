// A lower bound on epsilon for a sampler of anybody's.
#include <cmath>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>

#include "submix/divergence/renyi_order.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using divergence::RenyiOrder;

struct Audit {
  eval::EpsilonAudit found;
  eval::AuditOptions options;
};

std::vector<double> Scores(const py::function& sampler, const py::object& world, int transcripts) {
  std::vector<double> scores;
  for (int i = 0; i < transcripts; ++i) {
    scores.push_back(py::float_(sampler(world)).cast<double>());
    if (std::isnan(scores.back())) {
      RaiseIfError(base::InvalidArgumentError("sampler: a score is not a number"));
    }
  }
  return scores;
}

Audit AuditEpsilon(const py::function& sampler, const py::object& with_text,
                   const py::object& without_text, int transcripts, double order, double delta,
                   double error) {
  if (transcripts < 2) {
    RaiseIfError(base::InvalidArgumentError("transcripts: expected at least 2"));
  }
  if (!(delta > 0 && delta < 1 && error > 0 && error < 1)) {
    RaiseIfError(base::InvalidArgumentError("delta, error: expected numbers in (0, 1)"));
  }
  const eval::AuditOptions options = {ValueOrRaise(RenyiOrder::Create(order)), delta, error};
  const std::vector<double> with = Scores(sampler, with_text, transcripts);
  const std::vector<double> without = Scores(sampler, without_text, transcripts);
  return {eval::AuditEpsilon(with, without, options), options};
}

}  // namespace

void BindAudits(py::module_& module) {
  py::class_<Audit>(module, "EpsilonAudit",
                    "Lower bounds, each wrong with probability `error` at most; 0 if nothing was "
                    "found. An audit refutes a promise or does not; it proves none.")
      .def_property_readonly("epsilon", [](const Audit& audit) { return audit.found.epsilon; })
      .def_property_readonly("delta", [](const Audit& audit) { return audit.options.delta; })
      .def_property_readonly("rdp", [](const Audit& audit) { return audit.found.rdp; })
      .def_property_readonly("order",
                             [](const Audit& audit) { return audit.options.order.value(); })
      .def_property_readonly("error", [](const Audit& audit) { return audit.options.error; })
      .def("__repr__", [](const Audit& audit) {
        return py::str(
                   "EpsilonAudit: epsilon at least {} at delta {}, at least {} nats at order {}, "
                   "each wrong with probability {} at most")
            .format(audit.found.epsilon, audit.options.delta, audit.found.rdp,
                    audit.options.order.value(), audit.options.error);
      });
  module.def(
      "audit_epsilon", &AuditEpsilon, py::arg("sampler"), py::arg("with_text"),
      py::arg("without_text"), py::kw_only(), py::arg("transcripts") = 1000, py::arg("order") = 2.0,
      py::arg("delta") = accounting::kDefaultDelta, py::arg("error") = 0.05,
      "What `submix audit epsilon` finds, for any sampler. sampler(world) makes one transcript, "
      "independently of all others, from with_text or from without_text, two worlds that differ "
      "in one unit's text, and returns its score: a number that is higher where the text was "
      "there, such as a log likelihood ratio, or 1 if a secret was said and else 0. It is called "
      "`transcripts` times with each; half choose the test, half say how often it succeeds. The "
      "operator's own view: publishing the result is a release that no budget covers.");
}

}  // namespace submix::python

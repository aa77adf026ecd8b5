// submix.deploy: declares a budget, as `submix deploy` does.
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/mechanism/options_table.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"
#include "submix/workbench/declaration.h"

namespace submix::python {
namespace {

namespace py = pybind11;

// Every option of mechanisms is a keyword; None is nothing said.
std::map<std::string, std::string> SaidOf(const py::kwargs& options) {
  std::map<std::string, std::string> said;
  std::set<std::string> known;
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    const std::string keyword = option.keyword();
    known.insert(keyword);
    if (!options.contains(keyword) || options[py::str(keyword)].is_none()) continue;
    const py::object value = options[py::str(keyword)];
    mechanism::MechanismOptions scratch;
    RaiseIfError(py::isinstance<py::str>(value)
                     ? SetText(option, value.cast<std::string>(), scratch)
                     : SetValue(option, value.cast<double>(), scratch));
    said[std::string(option.path)] = TextOf(option, scratch);
  }
  for (const auto& [name, value] : options) {
    const std::string keyword = py::cast<std::string>(name);
    if (!known.contains(keyword)) {
      RaiseTypeError("deploy() got an unexpected keyword argument '" + keyword + "'");
    }
  }
  return said;
}

// What help() says of them.
std::string OptionsHelp() {
  std::string help;
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    if (option.path == "mechanism") continue;
    help += "\n    " + option.keyword() + ": " + std::string(option.help) + " (" +
            std::string(option.range) + "); default: " + std::string(option.unsaid);
  }
  return help;
}

std::string Deploy(const std::string& ensemble, const std::string& deployment, double epsilon,
                   const std::string& mechanism, const std::string& unit, double delta,
                   std::int64_t tokens, const std::string& when_exhausted,
                   const std::string& ledger, const std::vector<std::string>& after,
                   const py::kwargs& options) {
  if (unit != "part" && unit != "user") {
    RaiseIfError(base::InvalidArgumentError("unit: expected part or user, found " + unit));
  }
  workbench::Declaration declaration;
  declaration.ensemble_directory = ensemble;
  declaration.deployment_directory = deployment;
  declaration.ledger_location = ledger;
  declaration.after = after;
  declaration.for_users = unit == "user";
  declaration.tokens = tokens;
  declaration.said = SaidOf(options);
  declaration.options.mechanism.name = mechanism;
  declaration.options.epsilon = epsilon;
  declaration.options.delta = delta;
  declaration.options.when_exhausted = ValueOrRaise(engine::ParseWhenExhausted(when_exhausted));
  const engine::Deployment made = ValueOrRaise(workbench::Declare(declaration));
  const std::string caution = workbench::CautionOf(made);
  if (!caution.empty()) py::module_::import("warnings").attr("warn")(caution);
  return engine::DeploymentPromise(made).ToText();
}

}  // namespace

void BindDeploy(py::module_& module) {
  const std::string doc =
      "Declares the budget of an ensemble, for ever, in a new directory, as `submix deploy` does; "
      "the keywords are its flags, and the defaults its defaults. The mechanisms that are proven "
      "only. Returns what is promised. ValueError for what is out of range; submix.Error if the "
      "ensemble has a deployment, is incomplete or has changed. A budget is never reset.\n\n"
      "Options of mechanisms, also keywords:" +
      OptionsHelp();
  module.def("deploy", &Deploy, py::arg("ensemble"), py::arg("deployment"), py::kw_only(),
             py::arg("epsilon") = 2.0, py::arg("mechanism") = "filtered-submix",
             py::arg("unit") = "part", py::arg("delta") = accounting::kDefaultDelta,
             py::arg("queries") = 1024, py::arg("when_exhausted") = "public",
             py::arg("ledger") = "", py::arg("after") = std::vector<std::string>(), doc.c_str());
}

}  // namespace submix::python

// submix.deploy: declares a budget, as `submix deploy` does.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/accounting/promise.h"
#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/mechanism/baselines/recommended_options.h"
#include "submix/mechanism/baselines/user_budget.h"
#include "submix/mechanism/options_table.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {
namespace {

namespace py = pybind11;

bool IsGiven(const py::kwargs& options, const std::string& keyword) {
  return options.contains(keyword) && !options[py::str(keyword)].is_none();
}

// Every option of mechanisms is a keyword; None is nothing said.
void SetOptions(const py::kwargs& options, mechanism::MechanismOptions& declared) {
  std::set<std::string> known;
  for (const mechanism::MechanismOption& option : mechanism::MechanismOptionsTable()) {
    const std::string keyword = option.keyword();
    known.insert(keyword);
    if (!IsGiven(options, keyword)) continue;
    const py::object value = options[py::str(keyword)];
    RaiseIfError(py::isinstance<py::str>(value)
                     ? SetText(option, value.cast<std::string>(), declared)
                     : SetValue(option, value.cast<double>(), declared));
  }
  for (const auto& [name, value] : options) {
    const std::string keyword = py::cast<std::string>(name);
    if (!known.contains(keyword)) {
      RaiseTypeError("deploy() got an unexpected keyword argument '" + keyword + "'");
    }
  }
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
                   std::int64_t queries, const std::string& when_exhausted,
                   const std::string& ledger, const std::vector<std::string>& after,
                   const py::kwargs& options) {
  const auto manifest = ValueOrRaise(ensemble::LoadManifest(ensemble));
  if (queries < 1) RaiseIfError(base::InvalidArgumentError("queries: expected at least 1"));
  if (unit != "part" && unit != "user") {
    RaiseIfError(base::InvalidArgumentError("unit: expected part or user, found " + unit));
  }
  engine::DeploymentOptions declared;
  declared.mechanism.name = mechanism;
  declared.mechanism.num_parts = manifest.num_parts;
  mechanism::Recommend(manifest.num_parts, queries, declared.mechanism);
  SetOptions(options, declared.mechanism);
  declared.delta = delta;
  declared.when_exhausted = ValueOrRaise(engine::ParseWhenExhausted(when_exhausted));
  mechanism::AskedBudget asked = {
      .epsilon = epsilon, .for_users = unit == "user", .delta = delta, .queries = queries};
  if (IsGiven(options, "order")) asked.order = declared.mechanism.order;
  RaiseIfError(engine::DeclareBudget(ensemble::PublicDirectory(ensemble), manifest, after, asked,
                                     mechanism::MakeMechanism, declared));
  RaiseIfError(engine::CreateDeployment(deployment, ensemble, declared, ledger,
                                        mechanism::MakeMechanism, after));
  const auto made =
      ValueOrRaise(engine::OpenDeployment(deployment, engine::DeploymentAccess::kReadOnly));
  const std::int64_t users = manifest.users.value_or(0);
  const std::string caution =
      users == 0 ? "" : accounting::DeltaCaution(delta, static_cast<double>(users));
  if (!caution.empty()) py::module_::import("warnings").attr("warn")("For you alone: " + caution);
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

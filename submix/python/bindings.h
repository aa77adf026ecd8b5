// What `import submix` holds, part by part.
#pragma once

#include <pybind11/pybind11.h>

namespace submix::python {

// open, Deployment, Sampler, SamplingOptions, SampledToken, Account.
void BindDeployments(pybind11::module_& module);
// submix.deploy.
void BindDeploy(pybind11::module_& module);
// Ensemble.
void BindEnsembles(pybind11::module_& module);
// PrivateSteps.
void BindPrivateSteps(pybind11::module_& module);
// EnsembleTraining, MemberToTrain, read_users.
void BindTraining(pybind11::module_& module);
// Shape, ShapedAnswer.
void BindShapes(pybind11::module_& module);
// audit_epsilon, EpsilonAudit.
void BindAudits(pybind11::module_& module);
// submix.accounting: the calculators of `submix account`.
void BindAccounting(pybind11::module_& module);

}  // namespace submix::python

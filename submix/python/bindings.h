// What `import submix` holds, part by part.
#pragma once

#include <pybind11/pybind11.h>

namespace submix::python {

// open, Deployment, Sampler, SamplingOptions, SampledToken, Account.
void BindDeployments(pybind11::module_& module);
// submix.accounting: between Rényi budgets and (epsilon, delta), parts and users.
void BindAccounting(pybind11::module_& module);

}  // namespace submix::python

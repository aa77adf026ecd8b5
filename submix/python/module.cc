#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

PYBIND11_MODULE(_core, module) {
  // What stands in here is submix.Error, submix.accounting, …: the package has nothing else.
  module.attr("__name__") = "submix";
  module.doc() =
      "Private next-token prediction under whatever computes the logits.\n\n"
      "    with submix.open('tales') as deployment:\n"
      "        print(deployment.statement)\n"
      "        token = deployment.sampler().sample(logits)\n\n"
      "logits: float32 [1 + members, vocabulary]; row 0 is the public model's, the others are the\n"
      "members' in the order of deployment.members. The token has been paid for, durably, when it\n"
      "is returned.";
  pybind11::register_exception<submix::python::Error>(module, "Error", PyExc_RuntimeError);
  submix::python::BindDeployments(module);
  submix::python::BindDeploy(module);
  submix::python::BindEnsembles(module);
  submix::python::BindTraining(module);
  submix::python::BindPrivateSteps(module);
  submix::python::BindShapes(module);
  submix::python::BindAudits(module);
  submix::python::BindAccounting(module);
}

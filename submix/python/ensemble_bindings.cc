// submix.Ensemble: what is in an ensemble's directory, for whoever computes its logits.
#include <string>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/ensemble/opened_ensemble.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {

namespace py = pybind11;
using ensemble::OpenedEnsemble;

void BindEnsembles(py::module_& module) {
  py::class_<OpenedEnsemble>(
      module, "Ensemble",
      "What is in an ensemble's directory. Opens nobody's budget: a server may hold it meanwhile. "
      "FileNotFoundError, ValueError or submix.Error if there is no ensemble. Thread-safe.")
      .def(py::init([](const std::string& directory) {
             return ValueOrRaise(OpenedEnsemble::Open(directory));
           }),
           py::arg("directory"))
      .def_property_readonly("public_model", &OpenedEnsemble::public_directory,
                             "Hugging Face's directory: row 0.")
      .def_property_readonly(
          "members",
          [](const OpenedEnsemble& opened) { return ValueOrRaise(opened.MemberDirectories()); },
          "PEFT's directories: rows 1, 2, …; [] where the models run elsewhere.")
      .def_property_readonly("digest", &OpenedEnsemble::digest,
                             "What serve_logits must name of it.")
      .def(
          "verify",
          [](const OpenedEnsemble& opened) {
            RaiseIfError(opened.CheckHasModels());
            RaiseIfError(opened.VerifyFiles());
          },
          "Reads and hashes all files, which takes seconds for large models. submix.Error for one "
          "that is missing or changed, and where the models are not here.");
}

}  // namespace submix::python

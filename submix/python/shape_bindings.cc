// Answers with a shape, for whoever computes the logits and holds the vocabulary.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"
#include "submix/shape/shape.h"
#include "submix/shape/shaped_answer.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using shape::ShapedAnswer;
using shape::ShapeKind;
using shape::TokenAutomaton;

class Shape {
 public:
  Shape(const std::vector<py::bytes>& tokens, const std::optional<std::vector<std::string>>& choice,
        const std::optional<std::string>& regex, const std::optional<std::string>& json_schema,
        bool json_object) {
    if (choice.has_value() + regex.has_value() + json_schema.has_value() + json_object != 1) {
      RaiseIfError(base::InvalidArgumentError(
          "Shape: expected one of choice, regex, json_schema and json_object"));
    }
    shape::ShapeRequest request{.kind = ShapeKind::kJsonObject};
    if (choice) request = {ShapeKind::kChoice, {}, *choice};
    if (regex) request = {ShapeKind::kRegex, *regex};
    if (json_schema) request = {ShapeKind::kJsonSchema, *json_schema};
    std::vector<std::string> texts;
    for (const py::bytes& token : tokens) texts.push_back(token);
    shape::Shapes shapes(std::make_shared<const shape::Vocabulary>(texts));
    shape_ = ValueOrRaise(shapes.Compile(request));
  }

  ShapedAnswer Answer(int max_tokens, std::vector<base::TokenId> end_tokens) const {
    for (const base::TokenId token : end_tokens) {
      if (shape_->vocabulary()->Bytes(token).empty()) continue;
      RaiseIfError(base::InvalidArgumentError("end_tokens: the token " + std::to_string(token) +
                                              " is text of the vocabulary"));
    }
    ShapedAnswer answer(shape_, std::move(end_tokens), std::max(1, max_tokens));
    if (max_tokens < 1 || !answer.is_possible()) {
      RaiseIfError(base::InvalidArgumentError(
          "max_tokens: no answer of " + std::to_string(max_tokens) + " tokens has the shape"));
    }
    return answer;
  }

 private:
  std::shared_ptr<const TokenAutomaton> shape_;
};

void Accept(ShapedAnswer& answer, base::TokenId token) {
  const auto support = answer.has_ended() ? std::vector<base::TokenId>() : answer.Support();
  if (std::ranges::find(support, token) == support.end()) {
    RaiseIfError(
        base::InvalidArgumentError("the token " + std::to_string(token) + " may not come next"));
  }
  answer.Accept(token);
}

}  // namespace

void BindShapes(py::module_& module) {
  py::class_<ShapedAnswer>(module, "ShapedAnswer", "One answer on its way; one thread at a time.")
      .def_property_readonly(
          "support",
          [](const ShapedAnswer& answer) {
            return answer.has_ended() ? std::vector<base::TokenId>() : answer.Support();
          },
          "The tokens that may come next, ascending: what Sampler.sample takes. One that is alone "
          "is forced, and free.")
      .def("accept", &Accept, py::arg("token"), "ValueError for a token that may not come next.")
      .def_property_readonly("ended", &ShapedAnswer::has_ended)
      .def_property_readonly("complete", &ShapedAnswer::is_complete,
                             "It ended before its tokens did: nothing could follow.");
  py::class_<Shape>(module, "Shape", "What answers must look like as a whole. Thread-safe.")
      .def(py::init<const std::vector<py::bytes>&, const std::optional<std::vector<std::string>>&,
                    const std::optional<std::string>&, const std::optional<std::string>&, bool>(),
           py::arg("tokens"), py::kw_only(), py::arg("choice") = py::none(),
           py::arg("regex") = py::none(), py::arg("json_schema") = py::none(),
           py::arg("json_object") = false,
           "tokens: the bytes of each token of the vocabulary, b'' for those that are no text. "
           "One of: choice, a list of texts; regex; json_schema, its text; json_object=True. "
           "ValueError says what is not supported.")
      .def("answer", &Shape::Answer, py::arg("max_tokens"), py::arg("end_tokens"),
           "A ShapedAnswer. end_tokens: those that end an answer. ValueError if no answer of so "
           "many tokens has the shape.");
}

}  // namespace submix::python

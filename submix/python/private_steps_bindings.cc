// submix.PrivateSteps: the private steps of a training by another program, each paid for before its
// noisy average is known.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include "submix/accounting/calculators/step_budget.h"
#include "submix/accounting/promise.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/base/random.h"
#include "submix/ensemble/training_cost.h"
#include "submix/python/bindings.h"
#include "submix/python/numpy_array.h"
#include "submix/python/raise_status.h"
#include "submix/train/recipes/training_options.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"
#include "submix/train/sampled_gaussian/poisson_sampling.h"
#include "submix/train/sampled_gaussian/training_account.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using accounting::StepBudget;
using train::ClippedSum;
using train::TrainingAccount;

constexpr double kMostParameters = 0x1p33;
constexpr double kMostUnits = 0x1p53;
constexpr double kMostSteps = 0x1p31;
constexpr double kLeastBatch = 1e-3;

// All of it is public.
struct StepNumbers {
  std::int64_t parameters;
  double units;
  double expected_batch;
  std::int64_t steps;
  double clip;
  accounting::EpsilonBound target;
  double noise_multiplier;  // 0: the least that pays for all steps

  void Check() const {
    const auto in = [](const char* name, double value, double least, double most) {
      RaiseIfError(train::CheckRange(name, value, least, most));
    };
    in("parameters", static_cast<double>(parameters), 1, kMostParameters);
    in("units", units, 1, kMostUnits);
    in("expected_batch", expected_batch, kLeastBatch, std::min(units, ClippedSum::kMostExpected));
    in("steps", static_cast<double>(steps), 1, kMostSteps);
    in("clip", clip, 1 / train::kLongestClip, train::kLongestClip);
  }
  StepBudget Budget() const {
    const double probability = expected_batch / units;
    const double noise = noise_multiplier != 0
                             ? noise_multiplier
                             : ValueOrRaise(accounting::NoiseForSteps(probability, target, steps));
    return ValueOrRaise(StepBudget::Plan({probability, noise}, target));
  }
  // Binds the account to these numbers and to the training.
  std::string Identity(const std::string& training, const StepBudget& budget) const {
    std::string identity = "submix.PrivateSteps\n" + training;
    for (const double number :
         {static_cast<double>(parameters), units, expected_batch, static_cast<double>(steps), clip,
          target.epsilon, target.delta, budget.step().noise_multiplier}) {
      identity += "\n" + base::NumberText(number, /*digits=*/17);
    }
    return identity;
  }
};

// One thread at a time.
class PrivateSteps {
 public:
  // In a fork it is left as it is: the ledger's connection is the parent's.
  static std::shared_ptr<PrivateSteps> Open(const std::string& account, const std::string& training,
                                            const StepNumbers& numbers) {
    return {new PrivateSteps(account, training, numbers), [](PrivateSteps* steps) {
              if (steps->process_ == getpid()) delete steps;
            }};
  }

  // Forgets the batch that was drawn before, if that was not released.
  std::vector<std::size_t> Draw(std::size_t count) {
    CheckProcess();
    const auto batch = train::SamplePoisson(count, budget_.step().sampling_probability, *random_);
    sum_.Clear();
    waiting_ = std::set<std::size_t>(batch.begin(), batch.end());
    return batch;
  }

  void Add(std::size_t unit, const py::object& gradient) {
    CheckProcess();
    if (!waiting_.has_value() || !waiting_->contains(unit)) {
      RaiseIfError(
          base::InvalidArgumentError("unit: not of the batch that was drawn, or added already"));
    }
    const py::array array = py::module_::import("numpy").attr("asarray")(gradient);
    if (!py::isinstance<py::array_t<float>>(array) || !(array.flags() & py::array::c_style) ||
        array.ndim() != 1 || array.shape(0) != numbers_.parameters) {
      RaiseIfError(base::InvalidArgumentError(
          "gradient: expected float32 [" + std::to_string(numbers_.parameters) + "] without gaps"));
    }
    sum_.Add(
        {static_cast<const float*>(array.data()), static_cast<std::size_t>(numbers_.parameters)});
    waiting_->erase(unit);
  }

  // None: the budget holds no further step. Units of the batch that were not added count as zeros.
  py::object Release() {
    CheckProcess();
    if (!waiting_.has_value()) {
      RaiseIfError(base::InvalidArgumentError("release: no batch was drawn"));
    }
    auto receipt = ValueOrRaise(account_->Charge(budget_.step()));
    waiting_.reset();
    if (!receipt.has_value()) return py::none();
    std::vector<float> average(static_cast<std::size_t>(numbers_.parameters));
    sum_.Release({.sampling_probability = 1, .weight = numbers_.expected_batch},
                 budget_.step().noise_multiplier, *std::move(receipt), *random_, average);
    sum_.Clear();
    return NumpyArray(std::span<const float>(average), "float32");
  }

  double noise_multiplier() const { return budget_.step().noise_multiplier; }
  double sampling_probability() const { return budget_.step().sampling_probability; }
  std::int64_t charged() const { return account_->steps_charged(); }
  std::int64_t left() const { return budget_.most_steps() - account_->steps_charged(); }
  double epsilon() const { return budget_.EpsilonAfter(charged()).epsilon; }
  std::string statement() const {
    return PromiseOf(budget_.Statement(accounting::PrivacyUnit::kUserKey, charged())).ToText();
  }
  std::string cost() const {
    return ensemble::TrainingCostJson(
        {"dp-sgd", true, sampling_probability(), noise_multiplier(), charged()}, epsilon(),
        budget_.target().delta);
  }

 private:
  PrivateSteps(const std::string& account, const std::string& training, const StepNumbers& numbers)
      : numbers_((numbers.Check(), numbers)),
        budget_(numbers_.Budget()),
        sum_(static_cast<std::size_t>(numbers_.parameters), numbers_.clip),
        random_(base::MakeSystemRandomSource()) {
    const std::string identity = numbers_.Identity(training, budget_);
    const divergence::RenyiOrder order = budget_.binding().order;
    if (!base::FileExists(account)) {
      RaiseIfError(TrainingAccount::Create(account, identity, order, budget_.budget()));
    }
    account_ = ValueOrRaise(TrainingAccount::Open(account, identity, order, {}, budget_.step()));
  }

  // A fork would draw the parent's noise again.
  void CheckProcess() const {
    if (process_ == getpid()) return;
    RaiseIfError(base::FailedPreconditionError(
        "these steps belong to the process that forked this one; open an account of its own"));
  }

  const pid_t process_ = getpid();
  const StepNumbers numbers_;
  const StepBudget budget_;
  ClippedSum sum_;
  const std::unique_ptr<base::RandomSource> random_;
  std::unique_ptr<TrainingAccount> account_;
  std::optional<std::set<std::size_t>> waiting_;  // of the batch, whose gradients are not added yet
};

}  // namespace

void BindPrivateSteps(py::module_& module) {
  py::class_<PrivateSteps, std::shared_ptr<PrivateSteps>>(
      module, "PrivateSteps",
      "DP-SGD's steps, whoever computes the gradients (docs/privacy.md, Theorem 14): draw a batch "
      "of users by independent coins, add each one's gradient, which is clipped and added exactly, "
      "and release the noisy average, which is charged durably before its noise is drawn.\n\n"
      "account: a directory, made; opened again it goes on, and steps that were charged and then "
      "lost stay paid. training: names what is trained; its account serves no other. parameters: "
      "numbers in a gradient. units: a public number of users. expected_batch: of them in a step. "
      "noise_multiplier: in clips; 0: the least with which (epsilon, delta) pays for all steps. "
      "All numbers must be public. ValueError for what is out of range; submix.Error for another "
      "training's account, one that cannot charge, and in a fork. One thread at a time.")
      .def(py::init([](const std::string& account, const std::string& training,
                       std::int64_t parameters, double units, double expected_batch,
                       std::int64_t steps, double clip, double epsilon, double delta,
                       double noise_multiplier) {
             return PrivateSteps::Open(account, training,
                                       StepNumbers{parameters,
                                                   units,
                                                   expected_batch,
                                                   steps,
                                                   clip,
                                                   {epsilon, delta},
                                                   noise_multiplier});
           }),
           py::arg("account"), py::arg("training"), py::kw_only(), py::arg("parameters"),
           py::arg("units"), py::arg("expected_batch"), py::arg("steps"), py::arg("clip") = 0.1,
           py::arg("epsilon") = 8.0, py::arg("delta") = accounting::kDefaultDelta,
           py::arg("noise_multiplier") = 0.0)
      .def("draw", &PrivateSteps::Draw, py::arg("count"),
           "Indices below `count`, the users that there are, of a new batch. Private.")
      .def("add", &PrivateSteps::Add, py::arg("unit"), py::arg("gradient"),
           "A user's gradient, float32 [parameters], once for each of the batch. One that is not "
           "finite, or is missing, counts as zeros.")
      .def("release", &PrivateSteps::Release,
           "Charges the step, then returns the noisy average, float32 [parameters], over "
           "expected_batch. None: the budget holds no further step.")
      .def_property_readonly("noise_multiplier", &PrivateSteps::noise_multiplier)
      .def_property_readonly("sampling_probability", &PrivateSteps::sampling_probability)
      .def_property_readonly("charged", &PrivateSteps::charged, "Steps, lost ones among them.")
      .def_property_readonly("left", &PrivateSteps::left, "Steps that the budget still holds.")
      .def_property_readonly("epsilon", &PrivateSteps::epsilon, "At delta, after those charged.")
      .def_property_readonly("statement", &PrivateSteps::statement, "What one user is promised.")
      .def_property_readonly("cost", &PrivateSteps::cost,
                             "The text of private_training.json, which belongs beside the model.");
}

}  // namespace submix::python

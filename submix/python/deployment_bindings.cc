// A deployment whose members run elsewhere: their logits in, tokens that are paid for out.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include "submix/engine/deployment.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/private_sampler.h"
#include "submix/mechanism/supported_logits.h"
#include "submix/python/bindings.h"
#include "submix/python/raise_status.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using engine::AnswerEnd;
using engine::SampledToken;
using mechanism::SamplingOptions;

// body(i), which does not throw, once for every i in [0, count), by as many threads as there are
// processors, this one among them. Returns when all are done. Thread-safe.
void ConcurrentForEach(int count, const std::function<void(int)>& body) {
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < count; i = next++) body(i);
  };
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < std::min(count, processors); ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that there are do the work.
  }
  work();
}

// The process that charges the deployment. One call at a time; the others wait without the
// interpreter's lock.
class OpenedDeployment {
 public:
  // In a fork of the process that made it, it is of no use, and left as it is: the ledger's
  // connection is the parent's, and a lock that a thread held there stays held here.
  static std::shared_ptr<OpenedDeployment> Open(const std::string& directory) {
    return {new OpenedDeployment(directory), [](OpenedDeployment* deployment) {
              if (!deployment->IsOfParent()) delete deployment;
            }};
  }
  bool IsOfParent() const { return getpid() != process_; }

  const engine::Deployment& deployment() const { return deployment_; }
  int vocabulary() const { return vocabulary_; }

  base::StatusOr<std::vector<SampledToken>> Sample(std::span<const engine::Prediction> step) {
    const std::lock_guard lock(mutex_);
    if (has_failed_) SUBMIX_RETURN_IF_ERROR(sampler_->Recover());
    auto tokens = sampler_->Sample(step, ConcurrentForEach);
    has_failed_ = !tokens.ok() && tokens.status().code() != base::StatusCode::kInvalidArgument;
    return tokens;
  }

 private:
  explicit OpenedDeployment(const std::string& directory)
      : deployment_(
            ValueOrRaise(engine::OpenDeployment(directory, engine::DeploymentAccess::kCharge))),
        vocabulary_(ValueOrRaise(deployment_.ensemble.Vocabulary())),
        random_(base::MakeSystemRandomSource()),
        sampler_(ValueOrRaise(engine::PrivateSampler::Create(
            {deployment_.mechanism.get(), deployment_.ledger.get(), random_.get(),
             deployment_.config.options.when_exhausted},
            deployment_.ensemble.manifest().num_members()))) {}

  const pid_t process_ = getpid();
  const engine::Deployment deployment_;
  const int vocabulary_;
  const std::unique_ptr<base::RandomSource> random_;
  const std::unique_ptr<engine::PrivateSampler> sampler_;
  std::mutex mutex_;
  bool has_failed_ = false;  // guarded by mutex_
};

// The array behind an object, without a copy: NumPy's own, or by DLPack, such as torch's and JAX's
// on the CPU.
py::array_t<float> LogitsOf(const py::object& object, int rows, int vocabulary) {
  const py::module_ numpy = py::module_::import("numpy");
  const bool is_foreign = !py::isinstance<py::array>(object) && py::hasattr(object, "__dlpack__");
  const py::array array = numpy.attr(is_foreign ? "from_dlpack" : "asarray")(object);
  if (!py::isinstance<py::array_t<float>>(array) || !(array.flags() & py::array::c_style)) {
    RaiseTypeError(
        "logits: expected float32 in rows without gaps, such as "
        "numpy.ascontiguousarray(logits, numpy.float32)");
  }
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != vocabulary) {
    RaiseIfError(base::InvalidArgumentError(
        "logits: expected [" + std::to_string(rows) + ", " + std::to_string(vocabulary) +
        "]: the public model's row, then one for each member, of a number for each of the public "
        "model's tokens"));
  }
  return py::array_t<float>(array);
}

engine::Prediction PredictionOf(const py::array_t<float>& logits, const SamplingOptions& options) {
  const std::span<const float> all(logits.data(), static_cast<std::size_t>(logits.size()));
  const auto vocabulary = static_cast<std::size_t>(logits.shape(1));
  return {all.first(vocabulary), all.subspan(vocabulary), options};
}

std::shared_ptr<OpenedDeployment> Usable(std::shared_ptr<OpenedDeployment> deployment) {
  if (deployment == nullptr) {
    RaiseIfError(base::FailedPreconditionError("the deployment is closed: open it again"));
  }
  if (deployment->IsOfParent()) {
    RaiseIfError(base::FailedPreconditionError(
        "the deployment was opened before this process was forked: open it in each worker"));
  }
  return deployment;
}

// The columns of the support, of every row. ValueError for tokens that are none, or not in order.
std::vector<float> ColumnsOf(const py::array_t<float>& logits,
                             const std::vector<base::TokenId>& support) {
  const auto vocabulary = static_cast<std::size_t>(logits.shape(1));
  const bool ascends =
      std::ranges::adjacent_find(support, std::ranges::greater_equal()) == support.end();
  if (support.empty() || !ascends || support.front() < 0 ||
      std::cmp_greater_equal(support.back(), vocabulary)) {
    RaiseIfError(base::InvalidArgumentError(
        "support: expected ids of tokens, ascending, such as a ShapedAnswer's"));
  }
  std::vector<float> columns;
  mechanism::TakeColumns({logits.data(), static_cast<std::size_t>(logits.size())}, vocabulary,
                         support, columns);
  return columns;
}

class Deployment {
 public:
  explicit Deployment(const std::string& directory) : opened_(OpenedDeployment::Open(directory)) {}

  std::shared_ptr<OpenedDeployment> opened() const { return Usable(opened_); }
  void Close() { opened_.reset(); }

  std::string Text() const {
    return opened_ == nullptr
               ? "Deployment(closed)"
               : "Deployment(mechanism='" + Mechanism() + "', rows=" + std::to_string(Rows()) + ")";
  }
  std::string Statement() const {
    return engine::DeploymentPromise(opened()->deployment()).ToText();
  }
  std::string Mechanism() const { return std::string(opened()->deployment().mechanism->name()); }
  std::string PublicModel() const { return opened()->deployment().ensemble.public_directory(); }
  std::vector<std::string> Members() const {
    return ValueOrRaise(opened()->deployment().ensemble.MemberDirectories());
  }
  int Rows() const { return 1 + opened()->deployment().ensemble.manifest().num_members(); }
  std::vector<ledger::Account> Budget() const {
    return ValueOrRaise(opened()->deployment().ledger->Accounts());
  }

 private:
  std::shared_ptr<OpenedDeployment> opened_;
};

// Keeps its deployment as long as it is open.
class Sampler {
 public:
  explicit Sampler(std::weak_ptr<OpenedDeployment> deployment)
      : deployment_(std::move(deployment)) {}

  std::vector<SampledToken> SampleBatch(const std::vector<py::object>& logits,
                                        const std::vector<SamplingOptions>& options) {
    if (options.size() != logits.size()) {
      RaiseIfError(base::InvalidArgumentError("options: expected one for each of the " +
                                              std::to_string(logits.size()) + " sequences"));
    }
    const auto deployment = Usable(deployment_.lock());
    std::vector<py::array_t<float>> arrays;
    std::vector<engine::Prediction> step;
    for (std::size_t s = 0; s < logits.size(); ++s) {
      arrays.push_back(LogitsOf(logits[s],
                                1 + deployment->deployment().ensemble.manifest().num_members(),
                                deployment->vocabulary()));
      step.push_back(PredictionOf(arrays.back(), options[s]));
    }
    auto tokens = [&] {
      const py::gil_scoped_release released;
      return deployment->Sample(step);
    }();
    return ValueOrRaise(std::move(tokens));
  }

  std::vector<SampledToken> SampleAlike(const std::vector<py::object>& logits,
                                        const SamplingOptions& options) {
    return SampleBatch(logits, std::vector<SamplingOptions>(logits.size(), options));
  }

  base::TokenId Sample(const py::object& logits, const SamplingOptions& options,
                       const std::optional<std::vector<base::TokenId>>& support) {
    if (!support) return TokenOf(SampleBatch({logits}, {options}).front());
    const auto deployment = Usable(deployment_.lock());
    const auto array =
        LogitsOf(logits, 1 + deployment->deployment().ensemble.manifest().num_members(),
                 deployment->vocabulary());
    const std::vector<float> columns = ColumnsOf(array, *support);
    if (support->size() == 1) return support->front();  // forced: Theorem 17
    const std::vector<engine::Prediction> step = {{std::span(columns).first(support->size()),
                                                   std::span(columns).subspan(support->size()),
                                                   options}};
    auto tokens = [&] {
      const py::gil_scoped_release released;
      return deployment->Sample(step);
    }();
    return (*support)[static_cast<std::size_t>(TokenOf(ValueOrRaise(std::move(tokens)).front()))];
  }

 private:
  static base::TokenId TokenOf(const SampledToken& token) {
    if (token.end == AnswerEnd::kNoPrediction) {
      RaiseIfError(base::InvalidArgumentError(
          "logits: the public model's row has numbers that are not finite"));
    }
    RaiseIfError(StatusOf(token.end));
    return token.token.value();
  }

  const std::weak_ptr<OpenedDeployment> deployment_;
};

void BindValues(py::module_& module) {
  py::class_<SamplingOptions>(module, "SamplingOptions",
                              "Public options of a sequence, in Hugging Face's order.")
      .def(py::init([](double temperature, int top_k, int top_k_plus, double top_p) {
             const SamplingOptions options{temperature, top_p, top_k, top_k_plus};
             // Whether the mechanism has a top-k+ is its sampler's to say.
             RaiseIfError(mechanism::CheckSamplingOptions(options, /*log_ratio_range=*/0));
             return options;
           }),
           py::kw_only(), py::arg("temperature") = 1.0, py::arg("top_k") = 0,
           py::arg("top_k_plus") = 0, py::arg("top_p") = 1.0)
      .def_readonly("temperature", &SamplingOptions::temperature, "> 0")
      .def_readonly("top_k", &SamplingOptions::top_k, "likeliest public tokens; 0: all")
      .def_readonly("top_k_plus", &SamplingOptions::top_k_plus,
                    "with dclip and filtered-dclip: whatever could be among the mixture's k "
                    "likeliest; 0: off")
      .def_readonly("top_p", &SamplingOptions::top_p, "share of the public mass, in (0, 1]")
      .def("__repr__", [](const SamplingOptions& options) {
        return py::str("SamplingOptions(temperature={}, top_k={}, top_k_plus={}, top_p={})")
            .format(options.temperature, options.top_k, options.top_k_plus, options.top_p);
      });
  py::enum_<AnswerEnd>(module, "SampleOutcome")
      .value("TOKEN", AnswerEnd::kNotYet)
      .value("EXHAUSTED", AnswerEnd::kExhausted, "the tokens are used up")
      .value("NO_PREDICTION", AnswerEnd::kNoPrediction,
             "the public row is not finite; nothing was charged");
  py::class_<SampledToken>(module, "SampledToken")
      .def_readonly("outcome", &SampledToken::end)
      .def_readonly("token", &SampledToken::token)
      .def("__repr__", [](const SampledToken& sampled) {
        return py::str("SampledToken(outcome={}, token={})").format(sampled.end, sampled.token);
      });
  py::class_<ledger::Account>(module, "Account", "Of one part, in nats. For the operator alone.")
      .def_readonly("name", &ledger::Account::name)
      .def_property_readonly(
          "budget", [](const ledger::Account& account) { return account.budget.ToNatsRoundedUp(); })
      .def_property_readonly(
          "spent", [](const ledger::Account& account) { return account.spent.ToNatsRoundedUp(); })
      // Shown where nobody looks, as in a traceback: not what is spent.
      .def("__repr__", [](const ledger::Account& account) {
        return py::str("Account(name={!r}, budget={})")
            .format(account.name, account.budget.ToNatsRoundedUp());
      });
}

}  // namespace

void BindDeployments(py::module_& module) {
  BindValues(module);
  py::class_<Sampler>(module, "Sampler", "Thread-safe; calls take turns.")
      .def("sample", &Sampler::Sample, py::arg("logits"),
           py::arg_v("options", SamplingOptions(), "SamplingOptions()"),
           py::arg("support") = py::none(),
           "A token that has been paid for. logits: float32 [1 + members, vocabulary], row 0 the "
           "public model's; NumPy's array or anything on the CPU with DLPack, not copied. A member "
           "whose row is not finite is silent for this token. submix.Error if the tokens are used "
           "up or the ledger cannot charge: then there is no token, and what was charged stays. "
           "support: the tokens that may come, ascending, chosen by what is public alone, as a "
           "ShapedAnswer's; one that is alone is returned and costs nothing.")
      .def("sample_batch", &Sampler::SampleAlike, py::arg("logits"),
           py::arg_v("options", SamplingOptions(), "SamplingOptions()"),
           "A SampledToken for each sequence's logits, paid for in one transaction. options: for "
           "all, or a list with one for each.")
      .def("sample_batch", &Sampler::SampleBatch, py::arg("logits"), py::arg("options"));
  py::class_<Deployment>(module, "Deployment", "What `submix deploy` made, open to be charged.")
      .def_property_readonly("statement", &Deployment::Statement,
                             "What one user is promised, as `submix budget` prints it.")
      .def_property_readonly("mechanism", &Deployment::Mechanism)
      .def_property_readonly("public_model", &Deployment::PublicModel,
                             "Hugging Face's directory of row 0; of an external ensemble, its "
                             "tokenizer's files, if it has one.")
      .def_property_readonly("members", &Deployment::Members,
                             "PEFT's directories of the rows from 1 on; none of an external "
                             "ensemble. Private.")
      .def_property_readonly("rows", &Deployment::Rows, "Of logits: 1 + members.")
      .def_property_readonly("budget", &Deployment::Budget,
                             "Every part's Account. Its numbers depend on private text: for the "
                             "operator alone.")
      .def("sampler", [](const Deployment& deployment) { return Sampler(deployment.opened()); })
      .def("close", &Deployment::Close, "Its samplers end too.")
      .def("__repr__", &Deployment::Text)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Deployment& deployment, const py::args&) { deployment.Close(); });
  module.def(
      "open", [](const std::string& directory) { return Deployment(directory); },
      py::arg("directory"),
      "The deployment in a directory, checked as `submix serve` checks it. submix.Error if another "
      "process charges it, or its ensemble has changed.");
}

}  // namespace submix::python

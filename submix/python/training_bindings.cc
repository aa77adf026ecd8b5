// submix.EnsembleTraining: an ensemble whose members another program trains; submix.read_users.
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "submix/corpus/partition.h"
#include "submix/corpus/user_tokens.h"
#include "submix/decode/precision.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/mechanism/quantise.h"
#include "submix/model/decoder_config.h"
#include "submix/python/bindings.h"
#include "submix/python/numpy_array.h"
#include "submix/python/raise_status.h"
#include "submix/train/recipes/adapter_choice.h"
#include "submix/train/recipes/ensemble_plan.h"
#include "submix/train/recipes/training_options_table.h"
#include "submix/train/recipes/training_order.h"
#include "submix/train/recipes/training_recipe.h"
#include "submix/workbench/ensembles/loss_notes.h"

namespace submix::python {
namespace {

namespace py = pybind11;
using train::FineTuneOptions;
using train::TrainingOption;

const TrainingOption* FindOption(const std::string& name) {
  for (const TrainingOption& option : train::TrainingOptionsTable()) {
    if (option.name == name && option.record != TrainingOption::Record::kNone) return &option;
  }
  return nullptr;
}

// Every number of a training that a manifest keeps is a keyword; None is nothing said.
void SetNumbers(const py::kwargs& said, FineTuneOptions& options) {
  for (const auto& [key, value] : said) {
    const auto name = py::cast<std::string>(key);
    const TrainingOption* const option = FindOption(name);
    if (option == nullptr) {
      RaiseTypeError("EnsembleTraining() got an unexpected keyword argument '" + name + "'");
    }
    if (value.is_none()) continue;
    const std::string text = py::str(value);
    if (SetText(*option, text, options)) continue;
    RaiseIfError(base::InvalidArgumentError(
        name + ": expected a " + (option->is_whole() ? "whole " : "") + "number, found " + text));
  }
}

py::object ValueOf(const TrainingOption& option, const FineTuneOptions& options) {
  const py::str text(TextOf(option, options));
  return option.is_whole() ? py::object(py::int_(text)) : py::object(py::float_(text));
}

// The last names of all modules that an adapter has: PEFT takes no word for all of them beside a
// list of layers. Requires: an adapter that CheckFineTuneOptions lets pass.
std::set<std::string> TargetNames(const model::LoraConfig& lora,
                                  const model::DecoderConfig& config) {
  std::set<std::string> names;
  for (const auto& module : ValueOrRaise(model::AdaptedModules(config, lora))) {
    names.insert(module.name.substr(module.name.rfind('.') + 1));
  }
  return names;
}

// What a trainer must do: docs/training_options.md, and the adapter's shape.
py::dict RecipeOf(const FineTuneOptions& options, const model::DecoderConfig& config) {
  py::dict recipe;
  for (const TrainingOption& option : train::TrainingOptionsTable()) {
    if (option.record == TrainingOption::Record::kNone) continue;
    recipe[py::str(std::string(option.name))] = ValueOf(option, options);
  }
  recipe["precision"] = train::PrecisionName(options.precision);
  if (!options.lora.has_value()) return recipe;
  recipe["rank"] = options.lora->rank;
  recipe["lora_alpha"] = options.lora->lora_alpha;
  const bool is_all = options.lora->target_modules == std::vector<std::string>{"all-linear"};
  recipe["targets"] = py::list(is_all ? py::cast(TargetNames(*options.lora, config))
                                      : py::cast(options.lora->target_modules));
  recipe["layers"] = options.lora->layers;
  return recipe;
}

py::object ArrayOf(const std::vector<corpus::StreamToken>& block) {
  return NumpyArray(std::span(block), "int32");
}

corpus::Loss LossNamed(const std::string& name) {
  if (name != "answers" && name != "all") {
    RaiseIfError(base::InvalidArgumentError("loss: expected answers or all, found " + name));
  }
  return name == "all" ? corpus::Loss::kAll : corpus::Loss::kAnswers;
}

// Each user's blocks in which something counts; in the order of the users' keys.
std::vector<py::list> ReadUsers(const std::string& corpus, const std::string& public_model,
                                int block_tokens, std::int64_t tokens_per_user,
                                const std::string& loss) {
  const auto config = ValueOrRaise(model::LoadConfigOf(public_model));
  RaiseIfError(train::CheckRange("block_tokens", block_tokens, 2, config.context_length + 1));
  RaiseIfError(ensemble::CheckIsPublic(public_model));
  const auto tokenizer = ValueOrRaise(ensemble::LoadFittingTokenizer(public_model));
  const corpus::RecordEncoder encoder(*tokenizer, public_model, LossNamed(loss));
  const corpus::PartitionedCorpus read = ValueOrRaise(
      corpus::PartitionCorpus(corpus, encoder, base::HashKey{}, {.num_parts = 1}, tokens_per_user));
  std::vector<py::list> users;
  for (const corpus::UserTokens& user : read.members.front()) {
    py::list blocks;
    for (const auto& block : corpus::CutIntoBlocks({user}, block_tokens)) {
      blocks.append(ArrayOf(block));
    }
    users.push_back(blocks);
  }
  return users;
}

// One member, and when it reads what.
class MemberToTrain {
 public:
  MemberToTrain(const train::MemberTask& task, const FineTuneOptions& options)
      : task_(task),
        options_(options),
        usable_(train::UsableBlocks(task)),
        order_(usable_.size(), options.batch_size, task.seed) {}

  std::string directory() const { return task_.output_directory; }
  std::uint64_t seed() const { return task_.seed; }
  std::int64_t steps() const { return train::PlannedSteps(task_, options_); }

  py::list Batch(std::int64_t step) {
    CheckStep(step);
    py::list blocks;
    for (const std::size_t index : order_.Batch(step)) {
      blocks.append(ArrayOf(task_.blocks[usable_[index]]));
    }
    return blocks;
  }
  double LearningRate(std::int64_t step) const {
    CheckStep(step);
    return train::LearningRate(options_.learning_rate, step, steps());
  }

 private:
  void CheckStep(std::int64_t step) const {
    if (step >= 0 && step < steps()) return;
    RaiseIfError(base::InvalidArgumentError("step: expected 0 or more and less than " +
                                            std::to_string(steps()) + ", found " +
                                            std::to_string(step)));
  }

  const train::MemberTask task_;
  const FineTuneOptions options_;
  const std::vector<std::size_t> usable_;
  train::TrainingOrder order_;
};

// What it computes while other Python threads go on.
template <typename Compute>
auto WithoutGil(const Compute& compute) {
  auto computed = [&] {
    const py::gil_scoped_release release;
    return compute();
  }();
  return ValueOrRaise(std::move(computed));
}

class EnsembleTraining {
 public:
  EnsembleTraining(const std::string& corpus, const std::string& ensemble,
                   const std::string& public_model, const std::string& trainer, int parts,
                   int halves, double heldout_fraction, const std::string& partition_key,
                   std::int64_t tokens_per_user, std::int64_t tokens_a_part,
                   const std::string& loss, const std::string& precision, std::optional<int> rank,
                   std::optional<double> lora_alpha, const std::vector<std::string>& targets,
                   std::optional<int> top_layers, const py::kwargs& numbers) {
    train::EnsembleTrainingOptions options;
    options.public_directory = public_model;
    options.corpus = corpus;
    options.ensemble_directory = ensemble;
    options.partition = {parts, halves, heldout_fraction};
    options.partition_key_path = partition_key;
    options.tokens_per_user = tokens_per_user;
    options.trainer = trainer;
    options.loss = LossNamed(loss);
    if (trainer.empty()) RaiseIfError(base::InvalidArgumentError("trainer: a name is missing"));
    CheckPartition(options.partition);
    config_ = ValueOrRaise(model::LoadConfigOf(public_model));
    options.fine_tune = train::RecommendedRecipe(
        config_, {.num_parts = parts, .tokens_a_part = tokens_a_part, .all_weights = false});
    SetNumbers(numbers, options.fine_tune);
    options.fine_tune.precision = PrecisionNamed(precision);
    options.fine_tune.lora = ValueOrRaise(
        train::AdapterOf({false, rank, lora_alpha, targets, top_layers},
                         options.fine_tune.lora.value_or(model::LoraConfig()), config_.layers));
    options_ = options.fine_tune;
    plan_ = std::make_unique<train::EnsemblePlan>(
        WithoutGil([&] { return train::EnsemblePlan::Begin(options); }));
    const std::string losses = WithoutGil([&] {
      return workbench::WhatAddsUp({options.corpus, ensemble, public_model}, {});
    });
    if (!losses.empty()) py::module_::import("warnings").attr("warn")(losses);
  }

  std::string public_model() const { return Plan().public_directory(); }
  bool complete() const { return Plan().is_complete(); }
  py::dict recipe() const { return RecipeOf(options_, config_); }
  std::vector<std::shared_ptr<MemberToTrain>> members() const {
    std::vector<std::shared_ptr<MemberToTrain>> members;
    for (const train::MemberTask& task : Plan().tasks()) {
      members.push_back(std::make_shared<MemberToTrain>(task, options_));
    }
    return members;
  }
  void Finish() {
    RaiseIfError(Plan().Finish());
    Close();
  }
  void Close() { plan_.reset(); }

 private:
  static void CheckPartition(const corpus::PartitionOptions& partition) {
    RaiseIfError(train::CheckRange("parts", partition.num_parts, 1, mechanism::kMaxParts));
    RaiseIfError(train::CheckRange("halves", partition.halves, 1, 2));
    RaiseIfError(train::CheckRange("heldout_fraction", partition.heldout_fraction, 0, 0.9));
  }
  static train::Precision PrecisionNamed(const std::string& name) {
    if (name.empty()) {
      return train::PrecisionOf(decode::ProcessorMultipliesBfloat16() ? "bf16" : "f32");
    }
    if (name != "bf16" && name != "f32") {
      RaiseIfError(base::InvalidArgumentError("precision: expected bf16 or f32, found " + name));
    }
    return train::PrecisionOf(name);
  }
  train::EnsemblePlan& Plan() const {
    if (plan_ == nullptr) {
      RaiseIfError(base::FailedPreconditionError("this training is finished or closed"));
    }
    return *plan_;
  }

  model::DecoderConfig config_;
  FineTuneOptions options_;
  std::unique_ptr<train::EnsemblePlan> plan_;  // null: closed
};

// What help() says of the numbers.
std::string NumbersHelp() {
  std::string help;
  for (const TrainingOption& option : train::TrainingOptionsTable()) {
    if (option.record == TrainingOption::Record::kNone || option.help.empty()) continue;
    help += "\n    " + std::string(option.name) + ": " + std::string(option.help);
  }
  return help;
}

}  // namespace

void BindTraining(py::module_& module) {
  py::class_<MemberToTrain, std::shared_ptr<MemberToTrain>>(
      module, "MemberToTrain", "One member of an EnsembleTraining; one thread at a time.")
      .def_property_readonly(
          "directory", &MemberToTrain::directory,
          "Where the adapter goes, as PEFT's save_pretrained writes it, whole or not at all: write "
          "it beside and rename. One that exists is trained.")
      .def_property_readonly("seed", &MemberToTrain::seed, "Of all randomness of its training.")
      .def_property_readonly("steps", &MemberToTrain::steps,
                             "Updates. 0: it has no text, and is saved as it begins, adding zero.")
      .def("batch", &MemberToTrain::Batch, py::arg("step"),
           "What update `step` reads: int32 arrays of token ids, of at most block_tokens. A token "
           "that is read and does not count stands as its complement, ~id.")
      .def("learning_rate", &MemberToTrain::LearningRate, py::arg("step"), "Of update `step`.");
  module.def(
      "read_users", &ReadUsers, py::arg("corpus"), py::arg("public"), py::kw_only(),
      py::arg("block_tokens") = 129, py::arg("tokens_per_user") = 0, py::arg("loss") = "answers",
      "For each user with text, in the order of their keys, blocks of token ids as "
      "MemberToTrain.batch has them: what `submix train --private` reads of a file. submix.Error "
      "for a model that was itself trained on private text.");
  const std::string doc =
      "The training of an ensemble by a program of yours: partition of the users by keyed hash, "
      "tokens, order and manifest are those of `submix train`, whose options the keywords are. "
      "Holds the ensemble's lock until finish() or close(). Started again with the same arguments "
      "it goes on: members whose directory exists are done. Nothing may reach a member but its "
      "own batches, its seed, the public model and the recipe.\n\n"
      "corpus: JSONL or CSV, a record a line. trainer: names the program; another trainer's "
      "members are others. precision: bf16 or f32; '': what the processor multiplies. ValueError "
      "for what is out of range; submix.Error if the directory holds an ensemble of other options "
      "or text. Warns of deployments and private models beside it that cost its users something "
      "already.\n\nNumbers, also keywords, by recipe where nothing is said:" +
      NumbersHelp();
  py::class_<EnsembleTraining>(module, "EnsembleTraining", doc.c_str())
      .def(py::init<const std::string&, const std::string&, const std::string&, const std::string&,
                    int, int, double, const std::string&, std::int64_t, std::int64_t,
                    const std::string&, const std::string&, std::optional<int>,
                    std::optional<double>, const std::vector<std::string>&, std::optional<int>,
                    const py::kwargs&>(),
           py::arg("corpus"), py::arg("ensemble"), py::kw_only(), py::arg("public"),
           py::arg("trainer"), py::arg("parts") = 16, py::arg("halves") = 1,
           py::arg("heldout_fraction") = 0.1, py::arg("partition_key") = "",
           py::arg("tokens_per_user") = 0, py::arg("tokens_a_part") = 0,
           py::arg("loss") = "answers", py::arg("precision") = "", py::arg("rank") = py::none(),
           py::arg("lora_alpha") = py::none(), py::arg("targets") = std::vector<std::string>(),
           py::arg("top_layers") = py::none())
      .def_property_readonly("public_model", &EnsembleTraining::public_model,
                             "The directory of the copy that members start from.")
      .def_property_readonly("recipe", &EnsembleTraining::recipe,
                             "What every member is trained by: numbers, rank, lora_alpha, targets, "
                             "layers ([]: all), precision.")
      .def_property_readonly("members", &EnsembleTraining::members, "In the manifest's order.")
      .def_property_readonly("complete", &EnsembleTraining::complete, "Nothing is left to do.")
      .def("finish", &EnsembleTraining::Finish,
           "Closes the manifest over the members' files. submix.Error naming one that is missing.")
      .def("close", &EnsembleTraining::Close, "Gives the lock back; what is trained stays.")
      .def("__enter__", [](EnsembleTraining& training) -> EnsembleTraining& { return training; })
      .def("__exit__", [](EnsembleTraining& training, const py::args&) { training.Close(); });
}

}  // namespace submix::python

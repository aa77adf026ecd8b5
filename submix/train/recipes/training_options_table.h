// The numbers among the options of training, each said once: what it is called in manifests and on
// command lines, who reads it, what it may be and what it does. Flags, recipes, manifests,
// identities of checkpoints, checks and docs/training_options.md loop over this table; trainings
// read the structs. Thread-safe: the table is constant. Torch-free.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "submix/base/status.h"
#include "submix/train/recipes/fine_tune_options.h"

namespace submix::train {

struct TrainingOption {
  template <typename Options, typename Number>
  using Field = Number& (*)(Options& options);
  // What depends on it, and so writes it down.
  enum class Record {
    kNone,        // nothing: any number trains the same
    kCheckpoint,  // a checkpoint; no command sets it
    kAlways,      // a checkpoint, and every manifest
    kIfSet,       // both where it is not the default, so that what older programs wrote stays
  };

  std::string_view name;  // "warmup_fraction", in manifests and errors; persistent
  std::string_view flag;  // "--warmup-fraction"; empty: no command sets it
  std::string_view help;
  // Of TrainingOptions: every training reads it. Of FineTuneOptions: members and pre-training.
  std::variant<Field<TrainingOptions, int>, Field<TrainingOptions, std::int64_t>,
               Field<TrainingOptions, double>, Field<TrainingOptions, Decay>,
               Field<FineTuneOptions, int>, Field<FineTuneOptions, double>>
      field;
  Record record;
  double least = 0;
  double most = std::numeric_limits<double>::infinity();
  bool is_by_recipe = false;  // a recipe (training_recipe.h) decides what nobody says
  std::string_view help_of_pretraining = {};  // empty: `submix pretrain` has no such flag
  // In place of `most` where it depends on the model or on other options, and what it is.
  double (*most_here)(const TrainingOptions& options, const model::DecoderConfig& config) = nullptr;
  std::string_view most_in_words = {};

  bool is_whole() const;  // not a fraction
};

// In the order of identities and of --help.
std::span<const TrainingOption> TrainingOptionsTable();

// A number as manifests have it: nine digits.
std::string ParameterText(double value);
std::string TextOf(const TrainingOption& option, const FineTuneOptions& options);
// False: no number, or no whole one where it must be. Ranges are CheckNumbers's.
bool SetText(const TrainingOption& option, std::string_view text, FineTuneOptions& options);

// Of members, or of a training without them.
struct GivenOptions {
  GivenOptions(const TrainingOptions& options) : all(options) {}
  GivenOptions(const FineTuneOptions& options) : all(options), members(&options) {}

  const TrainingOptions& all;
  const FineTuneOptions* members = nullptr;
};

// What a manifest keeps: of members all that is recorded, of a training without them what a command
// line says.
void AddNumbers(const GivenOptions& options, std::map<std::string, std::string>& parameters);
// And back. Errors: kDataLoss for a manifest that lacks one or holds nonsense.
base::Status ReadNumbers(const std::map<std::string, std::string>& parameters,
                         FineTuneOptions& options);

// What a checkpoint depends on, with spaces between.
std::string IdentityNumbers(const GivenOptions& options);

// Errors: kInvalidArgument naming the first that is out of range.
base::Status CheckNumbers(const GivenOptions& options, const model::DecoderConfig& config);

// The table of docs/training_options.md.
std::string TrainingOptionsAsMarkdown();

}  // namespace submix::train

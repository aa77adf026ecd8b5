// The options of fine-tuning on a command line, shared by the commands that train.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/train/fine_tuning/fine_tune.h"
#include "submix/train/recipes/adapter_choice.h"
#include "submix/train/recipes/training_options_table.h"
#include "submix/workbench/training/default_precision.h"

namespace submix::apps {

// Which parameters are trained, and in which precision.
struct AdapterFlags : train::AdapterChoice {
  std::string precision = train::PrecisionName(workbench::DefaultTrainingPrecision());
};

// `unsaid`: who decides what nobody says, for --help; empty: model::LoraConfig.
void AddAdapterFlags(Flags flags, AdapterFlags& adapter, const std::string& unsaid);

// What a command line says of the numbers (training_options_table.h).
class TrainingNumberFlags {
 public:
  // Adds a flag for every option with such a help text. What nobody says is in `defaults`, but for
  // options of recipes, where `by_recipe` is not empty.
  void AddTo(Flags flags, std::string_view train::TrainingOption::*help,
             const train::FineTuneOptions& defaults, const std::string& by_recipe = "");
  // Sets what is said.
  void SetSaid(train::FineTuneOptions& options) const;

 private:
  std::map<const train::TrainingOption*, std::string> given_;  // empty: nobody said
};

struct FineTuneFlags {
  AdapterFlags adapter;
  TrainingNumberFlags numbers;
};

// `by_recipe`: for --help, who decides what nobody says; empty: the defaults of the options.
void AddFineTuneFlags(Flags flags, FineTuneFlags& fine_tune, const std::string& by_recipe = "");

// The recipe, and what the flags say instead. Errors: those of AdapterOf.
base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags,
                                                         const train::FineTuneOptions& recipe,
                                                         int layers);

}  // namespace submix::apps

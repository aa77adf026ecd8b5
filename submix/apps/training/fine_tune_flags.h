// The options of fine-tuning on a command line, shared by the commands that train.
#pragma once

#include <optional>
#include <string>

#include "submix/apps/flags.h"
#include "submix/model/lora_adapter.h"
#include "submix/train/fine_tuning/fine_tune.h"

namespace submix::apps {

// bf16 where the processor multiplies it; elsewhere it is several times slower than f32.
train::Precision DefaultTrainingPrecision();

// Which parameters are trained, and in which precision.
struct AdapterFlags {
  bool full = false;
  model::LoraConfig lora;
  int top_layers = 0;
  std::string precision = train::PrecisionName(DefaultTrainingPrecision());
};

void AddAdapterFlags(Flags flags, AdapterFlags& adapter);

// None: all weights. `layers` is the public model's number of layers. Errors: kInvalidArgument.
base::StatusOr<std::optional<model::LoraConfig>> AdapterOf(const AdapterFlags& flags, int layers);

// What the flags fill in.
struct FineTuneFlags {
  train::FineTuneOptions options;
  AdapterFlags adapter;
};

// Options of `command`, among them those of AddAdapterFlags, take from `recipe` what the command
// line does not say. Without --lora-alpha the recipe's scaling stays, whatever the rank.
void TakeUnsaid(const CLI::App& command, const model::LoraConfig& recipe, AdapterFlags& adapter);
void TakeUnsaid(const CLI::App& command, const train::FineTuneOptions& recipe,
                FineTuneFlags& fine_tune);

void AddFineTuneFlags(Flags flags, FineTuneFlags& fine_tune);

// The options that the flags say. Errors: those of AdapterOf.
base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags, int layers);

}  // namespace submix::apps

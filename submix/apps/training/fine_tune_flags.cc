#include "submix/apps/training/fine_tune_flags.h"

#include "submix/base/check.h"
#include "submix/decode/precision.h"

namespace submix::apps {
namespace {

// Whether it is in range is the training's to say.
CLI::Validator IsNumberOf(const train::TrainingOption& option) {
  return CLI::Validator(
      [&option](const std::string& text) {
        train::FineTuneOptions scratch;
        if (SetText(option, text, scratch)) return std::string();
        return (option.is_whole() ? "expected a whole number, found "
                                  : "expected a number, found ") +
               text;
      },
      "");
}

}  // namespace

void AddAdapterFlags(Flags flags, AdapterFlags& adapter, const std::string& unsaid) {
  const model::LoraConfig usual;
  const auto add = [&](CLI::Option* flag, const std::string& default_text) {
    flag->default_str(unsaid.empty() ? default_text : unsaid);
  };
  flags.Add("--full", adapter.full, "Train all weights instead of a LoRA adapter");
  add(flags.Add("--rank", adapter.rank, kPositive, "LoRA rank"), std::to_string(usual.rank));
  add(flags.Add("--lora-alpha", adapter.lora_alpha, "LoRA scaling is this over the rank"),
      train::ParameterText(usual.lora_alpha));
  add(flags.Add("--targets", adapter.targets,
                "Adapted layers: all-linear; of a GPT-2 c_attn, attn.c_proj, mlp.c_fc, mlp.c_proj; "
                "of others q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"),
      "[" + CLI::detail::join(usual.target_modules) + "]");
  add(flags.Add("--top-layers", adapter.top_layers, kNonNegative,
                "Adapt only the last n layers (members share the trunk); 0 = all"),
      "0");
  flags.Add("--precision", adapter.precision, OneOf({"f32", "bf16"}),
            "Of the matrix products: f32 or bf16");
}

void TrainingNumberFlags::AddTo(Flags flags, std::string_view train::TrainingOption::*help,
                                const train::FineTuneOptions& defaults,
                                const std::string& by_recipe) {
  for (const train::TrainingOption& option : train::TrainingOptionsTable()) {
    if (option.flag.empty() || (option.*help).empty()) continue;
    CLI::Option* const flag = flags.Add(std::string(option.flag), given_[&option],
                                        IsNumberOf(option), std::string(option.*help));
    const bool is_by_recipe = option.is_by_recipe && !by_recipe.empty();
    flag->type_name(option.is_whole() ? "INT" : "FLOAT")
        ->default_str(is_by_recipe ? by_recipe : TextOf(option, defaults));
  }
}

void TrainingNumberFlags::SetSaid(train::FineTuneOptions& options) const {
  for (const auto& [option, text] : given_) {
    if (!text.empty()) SUBMIX_CHECK(SetText(*option, text, options), "read by IsNumberOf");
  }
}

void AddFineTuneFlags(Flags flags, FineTuneFlags& fine_tune, const std::string& by_recipe) {
  AddAdapterFlags(flags, fine_tune.adapter, by_recipe);
  fine_tune.numbers.AddTo(flags, &train::TrainingOption::help, train::FineTuneOptions(), by_recipe);
}

base::StatusOr<train::FineTuneOptions> FineTuneOptionsOf(const FineTuneFlags& flags,
                                                         const train::FineTuneOptions& recipe,
                                                         int layers) {
  train::FineTuneOptions options = recipe;
  flags.numbers.SetSaid(options);
  options.precision = train::PrecisionOf(flags.adapter.precision);
  SUBMIX_ASSIGN_OR_RETURN(
      options.lora,
      train::AdapterOf(flags.adapter, recipe.lora.value_or(model::LoraConfig()), layers));
  return options;
}

}  // namespace submix::apps

#include "submix/train/recipes/training_options_table.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <type_traits>

#include "submix/base/number_text.h"

namespace submix::train {
namespace {

using base::Status;
using Record = TrainingOption::Record;

// Of the rate, which is more than 0; the most is far above what trains anything.
constexpr double kLeastRate = 1e-20;
constexpr double kMostRate = 1;
constexpr double kMostThreads = 4096;
constexpr char kThreadsHelp[] = "0 = OMP_NUM_THREADS or, where it is not set, one a processor";

// Name, flag, help, field, record; least and most; whether a recipe decides it; pretrain's help.
constexpr TrainingOption kTable[] = {
    {"epochs", "--epochs", "Passes over a member's text",
     +[](FineTuneOptions& of) -> int& { return of.epochs; }, Record::kAlways, 1, kMostEpochs, true,
     "Passes over the text"},
    {"batch_size", "--batch-size", "Blocks an update",
     +[](FineTuneOptions& of) -> int& { return of.batch_size; }, Record::kAlways, 1, kMostRows,
     true, "Sequences an update"},
    {.name = "block_tokens",
     .flag = "--block-tokens",
     .help = "Tokens a block",
     .field = +[](TrainingOptions& of) -> int& { return of.block_tokens; },
     .record = Record::kAlways,
     .least = 2,
     .is_by_recipe = true,
     .most_here = +[](const TrainingOptions&, const model::DecoderConfig& config) -> double {
       return config.context_length + 1;
     },
     .most_in_words = "the model's context and one"},
    {"learning_rate", "--learning-rate", "AdamW's, after warm-up",
     +[](TrainingOptions& of) -> double& { return of.learning_rate.peak; }, Record::kAlways,
     kLeastRate, kMostRate, true, "AdamW's, at the end of warm-up; then cosine to a tenth"},
    {"warmup_fraction", "--warmup-fraction",
     "Share of the steps with a rising rate; 1 is the SubMix paper's",
     +[](TrainingOptions& of) -> double& { return of.learning_rate.warmup_fraction; },
     Record::kAlways, 0, 1, true},
    {"warmup_steps", "", "If above 0, so many steps with a rising rate instead",
     +[](TrainingOptions& of) -> std::int64_t& { return of.learning_rate.warmup_steps; },
     Record::kAlways},
    {"decay", "", "Of the rate after warm-up: 0 none, 1 cosine, 2 linear",
     +[](TrainingOptions& of) -> Decay& { return of.learning_rate.decay; }, Record::kAlways, 0, 2},
    {"final_fraction", "", "Share of the rate where a decay ends",
     +[](TrainingOptions& of) -> double& { return of.learning_rate.final_fraction; },
     Record::kAlways, 0, 1},
    {"beta1", "", "AdamW's", +[](TrainingOptions& of) -> double& { return of.adamw.beta1; },
     Record::kCheckpoint, 0, 1},
    {"beta2", "", "AdamW's", +[](TrainingOptions& of) -> double& { return of.adamw.beta2; },
     Record::kCheckpoint, 0, 1},
    {"denominator_floor", "", "AdamW's",
     +[](TrainingOptions& of) -> double& { return of.adamw.denominator_floor; },
     Record::kCheckpoint},
    {.name = "weight_decay",
     .flag = "--weight-decay",
     .help = "AdamW's, decoupled",
     .field = +[](TrainingOptions& of) -> double& { return of.adamw.weight_decay; },
     .record = Record::kAlways,
     // An update multiplies weights by 1 - rate * decay.
     .most_here = +[](const TrainingOptions& of,
                      const model::DecoderConfig&) { return 1 / of.learning_rate.peak; },
     .most_in_words = "1 / learning_rate"},
    {"gradient_clip", "", "Longest gradient of a member; 0: any",
     +[](FineTuneOptions& of) -> double& { return of.gradient_clip; }, Record::kAlways},
    {"members_at_a_time", "--members-at-a-time",
     "Members trained in one batch over the shared frozen weights",
     +[](FineTuneOptions& of) -> int& { return of.members_at_a_time; }, Record::kNone, 1, kMostRows,
     true},
    {"threads", "--threads", kThreadsHelp, +[](TrainingOptions& of) -> int& { return of.threads; },
     Record::kNone, 0, kMostThreads, false, kThreadsHelp},
};

// Nothing: these options lack it.
std::optional<double> NumberOf(const TrainingOption& option, const GivenOptions& options) {
  return std::visit(
      [&](auto field) -> std::optional<double> {
        // Only read.
        if constexpr (std::is_invocable_v<decltype(field), TrainingOptions&>) {
          return static_cast<double>(field(const_cast<TrainingOptions&>(options.all)));
        } else {
          if (options.members == nullptr) return std::nullopt;
          return field(const_cast<FineTuneOptions&>(*options.members));
        }
      },
      option.field);
}

// Of whole numbers, all digits.
std::string NumberText(const TrainingOption& option, double number) {
  return option.is_whole() ? base::NumberText(number, /*digits=*/17) : ParameterText(number);
}

bool IsRecorded(const TrainingOption& option, double number) {
  if (option.record != Record::kIfSet) return option.record != Record::kNone;
  return number != NumberOf(option, FineTuneOptions());
}

}  // namespace

bool TrainingOption::is_whole() const {
  return !std::holds_alternative<Field<TrainingOptions, double>>(field) &&
         !std::holds_alternative<Field<FineTuneOptions, double>>(field);
}

std::span<const TrainingOption> TrainingOptionsTable() { return kTable; }

std::string ParameterText(double value) { return base::NumberText(value, /*digits=*/9); }

std::string TextOf(const TrainingOption& option, const FineTuneOptions& options) {
  return NumberText(option, NumberOf(option, options).value());
}

bool SetText(const TrainingOption& option, std::string_view text, FineTuneOptions& options) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed_to != end) return false;
  return std::visit(
      [&](auto field) {
        auto& value = field(options);
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<T, double>) {
          value = number;
        } else {
          constexpr double kMost = sizeof(T) < 8 ? 0x7fffffff : 0x1p53;
          if (!(std::abs(number) <= kMost) || number != std::floor(number)) return false;
          value = static_cast<T>(static_cast<std::int64_t>(number));
        }
        return true;
      },
      option.field);
}

void AddNumbers(const GivenOptions& options, std::map<std::string, std::string>& parameters) {
  for (const TrainingOption& option : kTable) {
    const bool is_kept = options.members != nullptr || !option.flag.empty();
    const auto number = NumberOf(option, options);
    if (!is_kept || !number || option.record == Record::kCheckpoint ||
        !IsRecorded(option, *number)) {
      continue;
    }
    parameters[std::string(option.name)] = NumberText(option, *number);
  }
}

Status ReadNumbers(const std::map<std::string, std::string>& parameters, FineTuneOptions& options) {
  for (const TrainingOption& option : kTable) {
    if (option.record != Record::kAlways && option.record != Record::kIfSet) continue;
    const auto found = parameters.find(std::string(option.name));
    if (found == parameters.end() && option.record == Record::kIfSet) continue;
    if (found == parameters.end() || !SetText(option, found->second, options)) {
      return base::DataLossError("manifest.json: the hyper-parameter " + std::string(option.name) +
                                 " is missing or not a number");
    }
  }
  return base::OkStatus();
}

std::string IdentityNumbers(const GivenOptions& options) {
  std::ostringstream text;
  text.precision(17);
  for (const TrainingOption& option : kTable) {
    const auto number = NumberOf(option, options);
    if (!number || !IsRecorded(option, *number)) continue;
    if (text.tellp() > 0) text << ' ';
    if (option.record == Record::kIfSet) text << option.name << '=';
    text << *number;
  }
  return text.str();
}

Status CheckNumbers(const GivenOptions& options, const model::DecoderConfig& config) {
  for (const TrainingOption& option : kTable) {
    const auto number = NumberOf(option, options);
    if (!number) continue;
    SUBMIX_RETURN_IF_ERROR(CheckRange(
        option.name, *number, option.least,
        option.most_here == nullptr ? option.most : option.most_here(options.all, config),
        option.most_in_words));
  }
  return base::OkStatus();
}

std::string TrainingOptionsAsMarkdown() {
  std::string table =
      "| flag | in manifests | who reads it | range | default | what it does |\n"
      "|---|---|---|---|---|---|\n";
  for (const TrainingOption& option : kTable) {
    if (option.flag.empty()) continue;
    const std::string name(option.name);
    const bool is_of_all = NumberOf(option, TrainingOptions()).has_value();
    table += "| `" + std::string(option.flag) + "` | " +
             (option.record == Record::kNone ? "" : "`" + name + "`") + " | " +
             (is_of_all ? "every training" : "members") +
             (option.help_of_pretraining.empty() ? "" : ", `pretrain`") + " | " +
             ParameterText(option.least) + " to " +
             (option.most_here == nullptr ? ParameterText(option.most)
                                          : std::string(option.most_in_words)) +
             " | " + (option.is_by_recipe ? "by `--recipe`" : TextOf(option, FineTuneOptions())) +
             " | " + std::string(option.help) + " |\n";
  }
  return table;
}

}  // namespace submix::train

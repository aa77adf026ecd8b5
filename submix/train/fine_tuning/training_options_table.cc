#include "submix/train/fine_tuning/training_options_table.h"

#include <charconv>
#include <cmath>
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

constexpr TrainingOption kTable[] = {
    {.name = "epochs",
     .flag = "--epochs",
     .least = 1,
     .most = kMostEpochs,
     .record = Record::kAlways,
     .is_by_recipe = true,
     .help = "Passes over a member's text",
     .help_of_pretraining = "Passes over the text",
     .field = +[](FineTuneOptions& options) -> int& { return options.epochs; }},
    {.name = "batch_size",
     .flag = "--batch-size",
     .least = 1,
     .most = kMostRows,
     .record = Record::kAlways,
     .is_by_recipe = true,
     .help = "Blocks an update",
     .help_of_pretraining = "Sequences an update",
     .field = +[](FineTuneOptions& options) -> int& { return options.batch_size; }},
    {.name = "block_tokens",
     .flag = "--block-tokens",
     .least = 2,
     .most_here = +[](const TrainingOptions&, const model::DecoderConfig& config) -> double {
       return config.context_length + 1;
     },
     .most_in_words = "the model's context and one",
     .record = Record::kAlways,
     .is_by_recipe = true,
     .help = "Tokens a block",
     .field = +[](TrainingOptions& options) -> int& { return options.block_tokens; }},
    {.name = "learning_rate",
     .flag = "--learning-rate",
     .least = kLeastRate,
     .most = kMostRate,
     .record = Record::kAlways,
     .is_by_recipe = true,
     .help = "AdamW's, after warm-up",
     .help_of_pretraining = "AdamW's, at the end of warm-up; then cosine to a tenth",
     .field = +[](TrainingOptions& options) -> double& { return options.learning_rate.peak; }},
    {.name = "warmup_fraction",
     .flag = "--warmup-fraction",
     .most = 1,
     .record = Record::kAlways,
     .is_by_recipe = true,
     .help = "Share of the steps with a rising rate; 1 is the SubMix paper's",
     .field = +[](TrainingOptions& options) -> double& {
       return options.learning_rate.warmup_fraction;
     }},
    {.name = "warmup_steps",
     .record = Record::kAlways,
     .help = "If above 0, so many steps with a rising rate instead",
     .field = +[](TrainingOptions& options) -> std::int64_t& {
       return options.learning_rate.warmup_steps;
     }},
    {.name = "decay",
     .most = 2,
     .record = Record::kAlways,
     .help = "Of the rate after warm-up: 0 none, 1 cosine, 2 linear",
     .field = +[](TrainingOptions& options) -> Decay& { return options.learning_rate.decay; }},
    {.name = "final_fraction",
     .most = 1,
     .record = Record::kAlways,
     .help = "Share of the rate where a decay ends",
     .field =
         +[](TrainingOptions& options) -> double& { return options.learning_rate.final_fraction; }},
    {.name = "beta1",
     .most = 1,
     .record = Record::kCheckpoint,
     .help = "AdamW's",
     .field = +[](TrainingOptions& options) -> double& { return options.adamw.beta1; }},
    {.name = "beta2",
     .most = 1,
     .record = Record::kCheckpoint,
     .help = "AdamW's",
     .field = +[](TrainingOptions& options) -> double& { return options.adamw.beta2; }},
    {.name = "denominator_floor",
     .record = Record::kCheckpoint,
     .help = "AdamW's",
     .field = +[](TrainingOptions& options) -> double& { return options.adamw.denominator_floor; }},
    {.name = "weight_decay",
     .flag = "--weight-decay",
     // An update multiplies weights by 1 - rate * decay.
     .most_here = +[](const TrainingOptions& options,
                      const model::DecoderConfig&) { return 1 / options.learning_rate.peak; },
     .most_in_words = "1 / learning_rate",
     .record = Record::kAlways,
     .help = "AdamW's, decoupled",
     .field = +[](TrainingOptions& options) -> double& { return options.adamw.weight_decay; }},
    {.name = "gradient_clip",
     .record = Record::kAlways,
     .help = "Longest gradient of a member; 0: any",
     .field = +[](FineTuneOptions& options) -> double& { return options.gradient_clip; }},
    {.name = "members_at_a_time",
     .flag = "--members-at-a-time",
     .least = 1,
     .most = kMostRows,
     .is_by_recipe = true,
     .help = "Members trained in one batch over the shared frozen weights",
     .field = +[](FineTuneOptions& options) -> int& { return options.members_at_a_time; }},
    {.name = "threads",
     .flag = "--threads",
     .most = kMostThreads,
     .help = kThreadsHelp,
     .help_of_pretraining = kThreadsHelp,
     .field = +[](TrainingOptions& options) -> int& { return options.threads; }},
};

// Does nothing where these options lack it. The value is only read.
template <typename Options, typename Visitor>
void Visit(const TrainingOption& option, const Options& options, const Visitor& visitor) {
  std::visit(
      [&](auto field) {
        if constexpr (std::is_invocable_v<decltype(field), Options&>) {
          visitor(field(const_cast<Options&>(options)));
        }
      },
      option.field);
}

// False: not of its kind. Whole numbers are below 2^53.
template <typename Options>
bool SetNumber(const TrainingOption& option, double number, Options& options) {
  return std::visit(
      [&](auto field) {
        using T = std::remove_reference_t<decltype(field(options))>;
        if constexpr (std::is_same_v<T, double>) {
          field(options) = number;
          return true;
        } else {
          constexpr double kMost = sizeof(T) < 8 ? 0x7fffffff : 0x1p53;
          if (!(std::abs(number) <= kMost) || number != std::floor(number)) return false;
          field(options) = static_cast<T>(static_cast<std::int64_t>(number));
          return true;
        }
      },
      option.field);
}

template <typename T>
std::string NumberAsText(T number) {
  if constexpr (std::is_same_v<T, double>) {
    return ParameterText(number);
  } else {
    return std::to_string(static_cast<std::int64_t>(number));
  }
}

bool ParseNumber(std::string_view text, double& number) {
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && parsed_to == end;
}

// visitor(option, number) for what a checkpoint or, if `in_manifest`, a manifest depends on.
template <typename Options, typename Visitor>
void VisitRecorded(const Options& options, bool in_manifest, const Visitor& visitor) {
  const Options defaults;
  for (const TrainingOption& option : kTable) {
    if (option.record == Record::kNone) continue;
    if (in_manifest && option.record == Record::kCheckpoint) continue;
    Visit(option, options, [&](auto number) {
      bool is_default = false;
      Visit(option, defaults, [&](auto usual) {
        is_default = static_cast<double>(usual) == static_cast<double>(number);
      });
      if (option.record != Record::kIfSet || !is_default) visitor(option, number);
    });
  }
}

template <typename Options>
std::string IdentityNumbersOf(const Options& options) {
  std::ostringstream text;
  text.precision(17);
  VisitRecorded(options, /*in_manifest=*/false, [&](const TrainingOption& option, auto number) {
    if (text.tellp() > 0) text << ' ';
    if (option.record == Record::kIfSet) text << option.name << '=';
    text << static_cast<double>(number);
  });
  return text.str();
}

template <typename Options>
Status CheckNumbersOf(const Options& options, const model::DecoderConfig& config) {
  Status status;
  for (const TrainingOption& option : kTable) {
    const double most =
        option.most_here == nullptr ? option.most : option.most_here(options, config);
    Visit(option, options, [&](auto number) {
      if (status.ok()) {
        status = CheckRange(option.name, static_cast<double>(number), option.least, most,
                            option.most_in_words);
      }
    });
  }
  return status;
}

}  // namespace

bool TrainingOption::is_whole() const {
  bool is_whole = false;
  Visit(*this, FineTuneOptions(),
        [&](auto number) { is_whole = !std::is_same_v<decltype(number), double>; });
  return is_whole;
}

std::span<const TrainingOption> TrainingOptionsTable() { return kTable; }

std::string ParameterText(double value) { return base::NumberText(value, /*digits=*/9); }

std::string TextOf(const TrainingOption& option, const FineTuneOptions& options) {
  std::string text;
  Visit(option, options, [&](auto number) { text = NumberAsText(number); });
  return text;
}

Status SetText(const TrainingOption& option, std::string_view text, FineTuneOptions& options) {
  double number = 0;
  if (ParseNumber(text, number) && SetNumber(option, number, options)) return base::OkStatus();
  return base::InvalidArgumentError(std::string(option.flag) + ": expected a " +
                                    (option.is_whole() ? "whole " : "") + "number, found " +
                                    std::string(text));
}

void AddNumbers(const FineTuneOptions& options, std::map<std::string, std::string>& parameters) {
  VisitRecorded(options, /*in_manifest=*/true, [&](const TrainingOption& option, auto number) {
    parameters[std::string(option.name)] = NumberAsText(number);
  });
}

void AddNumbers(const TrainingOptions& options, std::map<std::string, std::string>& parameters) {
  VisitRecorded(options, /*in_manifest=*/true, [&](const TrainingOption& option, auto number) {
    if (!option.flag.empty()) parameters[std::string(option.name)] = NumberAsText(number);
  });
}

Status ReadNumbers(const std::map<std::string, std::string>& parameters, FineTuneOptions& options) {
  for (const TrainingOption& option : kTable) {
    if (option.record == Record::kNone || option.record == Record::kCheckpoint) continue;
    const auto found = parameters.find(std::string(option.name));
    if (found == parameters.end() && option.record == Record::kIfSet) continue;
    double number = 0;
    if (found == parameters.end() || !ParseNumber(found->second, number) ||
        !SetNumber(option, number, options)) {
      return base::DataLossError("manifest.json: the hyper-parameter " + std::string(option.name) +
                                 " is missing or not a number");
    }
  }
  return base::OkStatus();
}

std::string IdentityNumbers(const FineTuneOptions& options) { return IdentityNumbersOf(options); }
std::string IdentityNumbers(const TrainingOptions& options) { return IdentityNumbersOf(options); }

Status CheckNumbers(const FineTuneOptions& options, const model::DecoderConfig& config) {
  return CheckNumbersOf(options, config);
}
Status CheckNumbers(const TrainingOptions& options, const model::DecoderConfig& config) {
  return CheckNumbersOf(options, config);
}

std::string TrainingOptionsAsMarkdown() {
  std::string table =
      "| flag | in manifests | who reads it | range | default | what it does |\n"
      "|---|---|---|---|---|---|\n";
  const FineTuneOptions defaults;
  for (const TrainingOption& option : kTable) {
    if (option.flag.empty()) continue;
    const bool is_in_manifests = option.record != Record::kNone;
    bool is_of_all = false;
    Visit(option, static_cast<const TrainingOptions&>(defaults), [&](auto) { is_of_all = true; });
    std::string most(option.most_in_words);
    if (most.empty()) most = ParameterText(option.most);
    table += "| `" + std::string(option.flag) + "` | " +
             (is_in_manifests ? "`" + std::string(option.name) + "`" : "") + " | " +
             (is_of_all ? "every training" : "members") +
             (option.help_of_pretraining.empty() ? "" : ", `pretrain`") + " | " +
             ParameterText(option.least) + " to " + most + " | " +
             (option.is_by_recipe ? "by `--recipe`" : TextOf(option, defaults)) + " | " +
             std::string(option.help) + " |\n";
  }
  return table;
}

}  // namespace submix::train

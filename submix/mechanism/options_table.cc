#include "submix/mechanism/options_table.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <type_traits>

namespace submix::mechanism {
namespace {

using base::Status;
using divergence::RenyiOrder;

constexpr MechanismOption kTable[] = {
    {.path = "mechanism",
     .flag = "--mechanism",
     .range = "a mechanism's name",
     .unsaid = "filtered-submix",
     .reason = "pays least for tokens that parts agree on",
     .help = "How members and public model are mixed",
     .field = +[](MechanismOptions& options) -> std::string& { return options.name; },
     .is_always_written = true},
    {.path = "order",
     .flag = "--order",
     .range = "in [1, inf]",
     .unsaid = "8",
     .reason = "a budget means most to one user there",
     .help = "The Renyi order at which budgets and charges are counted",
     .field = +[](MechanismOptions& options) -> RenyiOrder& { return options.order; },
     .is_always_written = true},
    {.path = "target_leakage",
     .flag = "--target-leakage",
     .range = "in (0, epsilon]",
     .unsaid = "epsilon / tokens",
     .reason = "every token can be paid for",
     .help = "The cap on one charge itself, in nats (instead of --tokens)",
     .field = +[](MechanismOptions& options) -> double& { return options.target_leakage; },
     .is_always_written = true},
    {.path = "max_mixing_weight",
     .flag = "--max-mixing-weight",
     .readers = "filtered-submix, screened",
     .range = "in (0, 1]",
     .unsaid = "by parts and tokens",
     .reason = "as measured",
     .help = "Largest weight of a member against the public model",
     .field = +[](MechanismOptions& options) -> double& { return options.max_mixing_weight; },
     .is_always_written = true},
    {.path = "accounting",
     .flag = "--accounting",
     .readers = "adapmixed, gnmax, pmixed, sample-and-aggregate",
     .range = "default, published, leave-one-out, worst-case",
     .unsaid = "default",
     .reason = "the mechanism's own",
     .help = "How charges are counted",
     .field = +[](MechanismOptions& options) -> ChargeAccounting& { return options.accounting; }},
    {.path = "sampling_probability",
     .flag = "--sampling-probability",
     .readers = "adapmixed, pmixed",
     .range = "in (0, 1]",
     .unsaid = "1",
     .reason = "every part answers",
     .help = "The chance of each part to be in the subset that answers (adapmixed: with published "
             "accounting)",
     .field = +[](MechanismOptions& options) -> double& { return options.sampling_probability; }},
    {.path = "clip.stretch",
     .flag = "--clip-stretch",
     .readers = "dclip, filtered-dclip, screened",
     .range = "in [1, 16]",
     .unsaid = "by parts and tokens",
     .reason = "as measured",
     .help = "Log ratios of members to the public model are multiplied by this before they are "
             "clipped; costs nothing",
     .field = +[](MechanismOptions& options) -> double& { return options.clip.stretch; }},
    {.path = "clip.centre",
     .flag = "--clip-centre",
     .readers = "dclip, filtered-dclip, screened",
     .range = "in [-1, 1]",
     .unsaid = "by parts and tokens",
     .reason = "as measured",
     .help = "The window for log ratios runs from -(1 - c) C to (1 + c) C; costs nothing",
     .field = +[](MechanismOptions& options) -> double& { return options.clip.centre; }},
    {.path = "ball_radius",
     .flag = "--ball-radius",
     .readers = "adapmixed, pmixed",
     .range = "above 0 where it is read",
     .unsaid = "0",
     .reason = "none is right for all: it must be chosen",
     .help = "Radius of the ball around the public model, in nats (pmixed: with leave-one-out "
             "accounting)",
     .field = +[](MechanismOptions& options) -> double& { return options.ball_radius; }},
    {.path = "screened_mechanism",
     .flag = "--screened-mechanism",
     .readers = "screened",
     .range = "filtered-submix, dclip",
     .unsaid = "filtered-submix",
     .reason = "as for --mechanism",
     .help = "What stands behind the screen",
     .field =
         +[](MechanismOptions& options) -> std::string& { return options.screened_mechanism; }},
    {.path = "screen.noise_scale",
     .flag = "--screen-noise",
     .readers = "adapmixed, screened",
     .range = "above 0",
     .unsaid = "0.01",
     .reason = "AdaPMixED's",
     .help = "Standard deviation of the noise on each compared probability",
     .field = +[](MechanismOptions& options) -> double& { return options.screen.noise_scale; }},
    {.path = "screen.threshold",
     .flag = "--screen-threshold",
     .readers = "adapmixed, screened",
     .range = "0 or more",
     .unsaid = "4.5",
     .reason = "AdaPMixED's",
     .help =
         "In nats. screened: the public model answers up to this divergence; adapmixed: above it",
     .field = +[](MechanismOptions& options) -> double& { return options.screen.threshold; }},
    {.path = "screen.mixing_weight",
     .flag = "--screen-weight",
     .readers = "adapmixed, screened",
     .range = "in (0, 1]",
     .unsaid = "0.0001",
     .reason = "AdaPMixED's",
     .help = "The ensemble's weight in what is compared",
     .field = +[](MechanismOptions& options) -> double& { return options.screen.mixing_weight; }},
    {.path = "screen.top_tokens",
     .flag = "--screen-tokens",
     .readers = "adapmixed, screened",
     .range = "1 or more",
     .unsaid = "60",
     .reason = "AdaPMixED's",
     .help = "How many of the likeliest public tokens are compared",
     .field = +[](MechanismOptions& options) -> int& { return options.screen.top_tokens; }},
};

// The value is only read.
template <typename Visitor>
auto Visit(const MechanismOption& option, const MechanismOptions& options, const Visitor& visitor) {
  return std::visit(
      [&](auto field) { return visitor(field(const_cast<MechanismOptions&>(options))); },
      option.field);
}

// The shortest text that gives the number back.
std::string ShortestText(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

Status WrongValue(const MechanismOption& option, const std::string& found) {
  return base::InvalidArgumentError(std::string(option.flag) + ": expected " +
                                    std::string(option.range) + ", found " + found);
}

Status SetWord(const MechanismOption& option, const std::string& word, MechanismOptions& options) {
  return std::visit(
      [&](auto field) -> Status {
        auto& value = field(options);
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string>) {
          value = word;
        } else if constexpr (std::is_same_v<T, RenyiOrder>) {
          SUBMIX_ASSIGN_OR_RETURN(value, RenyiOrder::Parse(word));
        } else if constexpr (std::is_same_v<T, ChargeAccounting>) {
          SUBMIX_ASSIGN_OR_RETURN(value, ParseChargeAccounting(word));
        } else {
          return WrongValue(option, word);
        }
        return base::OkStatus();
      },
      option.field);
}

Status SetNumber(const MechanismOption& option, double number, MechanismOptions& options) {
  return std::visit(
      [&](auto field) -> Status {
        auto& value = field(options);
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<T, double>) {
          value = number;
          return base::OkStatus();
        } else if constexpr (std::is_same_v<T, RenyiOrder>) {
          SUBMIX_ASSIGN_OR_RETURN(value, RenyiOrder::Create(number));
          return base::OkStatus();
        } else if constexpr (std::is_same_v<T, int>) {
          if (number >= INT_MIN && number <= INT_MAX && number == static_cast<int>(number)) {
            value = static_cast<int>(number);
            return base::OkStatus();
          }
        }
        return WrongValue(option, ShortestText(number));
      },
      option.field);
}

}  // namespace

std::string_view MechanismOption::group() const {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string MechanismOption::pointer() const {
  std::string pointer = "/" + std::string(path);
  std::ranges::replace(pointer, '.', '/');
  return pointer;
}

std::string MechanismOption::keyword() const {
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  return name;
}

std::span<const MechanismOption> MechanismOptionsTable() { return kTable; }

OptionValue ValueOf(const MechanismOption& option, const MechanismOptions& options) {
  return Visit(option, options, [](const auto& value) -> OptionValue {
    using T = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::is_same_v<T, RenyiOrder>) {
      return value.ToString();
    } else if constexpr (std::is_same_v<T, ChargeAccounting>) {
      return std::string(ToString(value));
    } else if constexpr (std::is_same_v<T, int>) {
      return std::int64_t{value};
    } else {
      return value;
    }
  });
}

Status SetValue(const MechanismOption& option, const OptionValue& value,
                MechanismOptions& options) {
  if (const auto* const word = std::get_if<std::string>(&value)) {
    return SetWord(option, *word, options);
  }
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return SetNumber(option, whole ? static_cast<double>(*whole) : std::get<double>(value), options);
}

std::string TextOf(const MechanismOption& option, const MechanismOptions& options) {
  const OptionValue value = ValueOf(option, options);
  if (const auto* const word = std::get_if<std::string>(&value)) return *word;
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole ? std::to_string(*whole) : ShortestText(std::get<double>(value));
}

Status SetText(const MechanismOption& option, std::string_view text, MechanismOptions& options) {
  if (std::holds_alternative<std::string>(ValueOf(option, options))) {
    return SetWord(option, std::string(text), options);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    return WrongValue(option, std::string(text));
  }
  return SetNumber(option, number, options);
}

Status SetTexts(const std::map<std::string, std::string>& texts, MechanismOptions& options) {
  for (const auto& [path, text] : texts) {
    const auto option = std::ranges::find(kTable, path, &MechanismOption::path);
    if (option == std::end(kTable)) {
      return base::InvalidArgumentError(path + ": no option of mechanisms");
    }
    SUBMIX_RETURN_IF_ERROR(SetText(*option, text, options));
  }
  return base::OkStatus();
}

bool IsWritten(const MechanismOption& option, const MechanismOptions& options) {
  if (option.is_always_written) return true;
  const MechanismOptions defaults;
  return std::ranges::any_of(kTable, [&](const MechanismOption& other) {
    const bool is_together =
        option.group().empty() ? other.path == option.path : other.group() == option.group();
    return is_together && ValueOf(other, options) != ValueOf(other, defaults);
  });
}

bool IsReadBy(const MechanismOption& option, std::string_view mechanism) {
  std::string_view rest = option.readers;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    if (rest.substr(0, end) == mechanism) return true;
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
  return option.readers.empty();
}

std::string OptionsAsMarkdown() {
  std::string table =
      "| flag | in files | who reads it | range | default | what it does |\n"
      "|---|---|---|---|---|---|\n";
  for (const MechanismOption& option : kTable) {
    table += "| `" + std::string(option.flag) + "` | `" + std::string(option.path) + "`";
    for (const std::string_view cell :
         {option.readers.empty() ? "all" : option.readers, option.range, option.unsaid}) {
      table += " | " + std::string(cell);
    }
    table += ": " + std::string(option.reason) + " | " + std::string(option.help) + " |\n";
  }
  return table;
}

}  // namespace submix::mechanism

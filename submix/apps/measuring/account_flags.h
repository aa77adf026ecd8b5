// How the sub-commands of `submix account` are added to the command line: `submix account NAME`.
#pragma once

#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "submix/apps/command.h"

namespace submix::apps {

// Conditions on numbers, written positively so that NaN is refused as wrong use.
inline CLI::Validator Number(const char* expected, bool (*good)(double)) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && parsed_to == end && good(value)) return std::string();
        return "expected " + std::string(expected) + ", found " + text;
      },
      "");
}
inline const CLI::Validator kPositive =
    Number("a number above 0", [](double value) { return value > 0 && std::isfinite(value); });
inline const CLI::Validator kNonNegative =
    Number("a number >= 0", [](double value) { return value >= 0 && std::isfinite(value); });
inline const CLI::Validator kProbability =
    Number("a number in [0, 1]", [](double value) { return value >= 0 && value <= 1; });
inline const CLI::Validator kDelta =
    Number("a number in (0, 1)", [](double value) { return value > 0 && value < 1; });
inline const CLI::Validator kCount = Number("a whole number from 1 to 2^53", [](double value) {
  return value >= 1 && value <= 0x1p53 && value == std::floor(value);
});

template <typename T>
CLI::Option* AddFlag(CLI::App& app, const std::string& name, T& value, const char* help,
                     const CLI::Validator& check) {
  return app.add_option(name, value, help)->check(check);
}
// A list with commas.
inline void AddListFlag(CLI::App& app, const std::string& name, std::vector<double>& values,
                        const char* help, const CLI::Validator& check) {
  AddFlag(app, name, values, help, check)->delimiter(',');
}

// A sub-command that runs `run(options)`; `add` adds its flags, to which --json is added. Options
// has a member `bool json`.
template <typename Options>
void AddSubcommand(CLI::App& parent, Action& action, const std::string& name,
                   const std::string& summary, const std::string& example,
                   const std::function<void(CLI::App&, Options&)>& add,
                   const std::function<base::Status(const Options&)>& run) {
  CLI::App* const app = parent.add_subcommand(name, summary);
  auto options = std::make_shared<Options>();
  add(*app, *options);
  app->add_flag("--json", options->json, "One JSON object");
  app->footer("Example: submix account " + example);
  app->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
}

}  // namespace submix::apps

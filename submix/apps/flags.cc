#include "submix/apps/flags.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "submix/base/number_text.h"

namespace submix::apps {
namespace {

template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;

}  // namespace

CLI::Validator Number(const std::string& expected, const std::function<bool(double)>& is_good) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const char* const end = text.data() + text.size();
        const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
        if (error == std::errc() && parsed_to == end && is_good(value)) return std::string();
        return "expected " + expected + ", found " + text;
      },
      "");
}

CLI::Validator Between(double least, double most) {
  return Number("a number from " + base::NumberText(least) + " to " + base::NumberText(most, 17),
                [=](double value) { return value >= least && value <= most; });
}

const CLI::Validator kPositive =
    Number("a number above 0", [](double value) { return value > 0 && std::isfinite(value); });
const CLI::Validator kNonNegative =
    Number("a number >= 0", [](double value) { return value >= 0 && std::isfinite(value); });
const CLI::Validator kProbability =
    Number("a number in [0, 1]", [](double value) { return value >= 0 && value <= 1; });
const CLI::Validator kShare =
    Number("a number in (0, 1]", [](double value) { return value > 0 && value <= 1; });
const CLI::Validator kDelta =
    Number("a number in (0, 1)", [](double value) { return value > 0 && value < 1; });
const CLI::Validator kCount = Number("a whole number from 1 to 2^53", [](double value) {
  return value >= 1 && value <= 0x1p53 && value == std::floor(value);
});
const CLI::Validator kFile = CLI::detail::ExistingFileValidator();
const CLI::Validator kDirectory = CLI::detail::ExistingDirectoryValidator();
const CLI::Validator kOutputFile(
    [](const std::string& path) {
      namespace fs = std::filesystem;
      if (fs::is_directory(path)) return path + " is a directory: name a file in it";
      const fs::path parent = fs::path(path).parent_path();
      if (parent.empty() || fs::is_directory(parent)) return std::string();
      return path + ": there is no directory " + parent.string() + ": make it first";
    },
    "");

CLI::Validator OneOf(std::vector<std::string> words) { return CLI::IsMember(std::move(words)); }

template <typename T>
CLI::Option* Flags::Add(const std::string& name, T& value, const std::string& help) {
  if constexpr (std::is_same_v<T, bool>) {
    return command_->add_flag(name, value, help);
  } else {
    CLI::Option* const option = command_->add_option(name, value, help);
    if (kIsVector<T> && name.starts_with('-')) option->delimiter(',');
    return option;
  }
}

template CLI::Option* Flags::Add(const std::string&, bool&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, double&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, int&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::int64_t&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::uint64_t&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::string&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::optional<int>&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::optional<double>&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::optional<std::int64_t>&,
                                 const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::vector<double>&, const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::vector<std::int64_t>&,
                                 const std::string&);
template CLI::Option* Flags::Add(const std::string&, std::vector<std::string>&, const std::string&);

}  // namespace submix::apps

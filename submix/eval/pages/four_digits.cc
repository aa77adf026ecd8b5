#include "submix/eval/pages/four_digits.h"

#include <cmath>
#include <cstdlib>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/number_text.h"

namespace submix::eval {
namespace {

constexpr int kDigits = 4;
constexpr double kAllDigitsBelow = 1e12;  // larger numbers have an exponent

}  // namespace

double RoundedUp(double value) {
  return std::strtod(accounting::FormatCost(value).c_str(), nullptr);
}

std::string FourDigits(double value) {
  if (!std::isfinite(value)) return "–";
  const std::string text = base::NumberText(value, kDigits);
  const double rounded = std::strtod(text.c_str(), nullptr);
  if (std::abs(rounded) < 1000 || std::abs(rounded) >= kAllDigitsBelow) return text;
  return rounded == std::floor(rounded) ? CountText(static_cast<std::int64_t>(rounded)) : text;
}

std::string CountText(std::int64_t count) {
  std::string text = std::to_string(count);
  const std::ptrdiff_t first = count < 0 ? 1 : 0;
  for (std::ptrdiff_t i = std::ssize(text) - 3; i > first; i -= 3) {
    text.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return text;
}

std::string PercentText(double share) { return FourDigits(100 * share) + " %"; }

std::string MostPercentText(double share) { return FourDigits(RoundedUp(100 * share)) + " %"; }

std::string MostTimesText(double epsilon) {
  constexpr double kBillion = 1e9;
  const double factor = RoundedUp(std::exp(epsilon));
  return factor <= kBillion ? FourDigits(factor) + " times" : "more than a billion times";
}

}  // namespace submix::eval

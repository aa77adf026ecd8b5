#include "submix/mechanism/mechanism_options.h"

#include <array>
#include <string>
#include <utility>

#include "submix/accounting/fixed_nats.h"
#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/mechanism/quantise.h"

namespace submix::mechanism {
namespace {

constexpr std::array kAccountingNames = {
    std::pair(ChargeAccounting::kDefault, std::string_view("default")),
    std::pair(ChargeAccounting::kPublished, std::string_view("published")),
    std::pair(ChargeAccounting::kLeaveOneOut, std::string_view("leave-one-out")),
    std::pair(ChargeAccounting::kWorstCase, std::string_view("worst-case")),
};

}  // namespace

std::string_view ToString(ChargeAccounting accounting) {
  for (const auto& [value, name] : kAccountingNames) {
    if (value == accounting) return name;
  }
  base::CheckFailed(__FILE__, __LINE__, "accounting", "an accounting without a name");
}

base::StatusOr<ChargeAccounting> ParseChargeAccounting(std::string_view text) {
  for (const auto& [value, name] : kAccountingNames) {
    if (name == text) return value;
  }
  return base::InvalidArgumentError(
      "accounting: expected default, published, leave-one-out or worst-case, found '" +
      std::string(text) + "'");
}

base::Status CheckMechanismOptions(const MechanismOptions& options) {
  if (options.num_parts < 1 || options.num_parts > kMaxParts) {
    return base::InvalidArgumentError("parts: expected 1 to " + std::to_string(kMaxParts) +
                                      ", found " + std::to_string(options.num_parts));
  }
  if (!(options.target_leakage > 0 && options.target_leakage < accounting::FixedNats::kLimitNats)) {
    return base::InvalidArgumentError(
        "target leakage (beta): expected nats above 0 and below 8192, found " +
        base::NumberText(options.target_leakage));
  }
  if (!(options.order.value() >= 1)) {
    return base::InvalidArgumentError(
        "order: this mechanism's charges need an order of at least 1, found " +
        options.order.ToString());
  }
  return base::OkStatus();
}

base::Status CheckPredictions(const PartPredictions& predictions, int num_parts,
                              std::size_t num_remaining) {
  if (predictions.num_parts != num_parts || num_remaining != static_cast<std::size_t>(num_parts)) {
    return base::InvalidArgumentError(
        "expected predictions and budgets of " + std::to_string(num_parts) + " parts, found " +
        std::to_string(predictions.num_parts) + " and " + std::to_string(num_remaining));
  }
  if (predictions.halves != 1 && predictions.halves != 2) {
    return base::InvalidArgumentError("expected one or two members a part, found " +
                                      std::to_string(predictions.halves));
  }
  const std::size_t rows =
      static_cast<std::size_t>(num_parts) * static_cast<std::size_t>(predictions.halves);
  if (predictions.public_pmf.empty() ||
      predictions.member_pmfs.size() != rows * predictions.support_size()) {
    return base::InvalidArgumentError("expected " + std::to_string(rows) + " rows of " +
                                      std::to_string(predictions.support_size()) +
                                      " (at least 1) probabilities, found " +
                                      std::to_string(predictions.member_pmfs.size()) + " in all");
  }
  return base::OkStatus();
}

}  // namespace submix::mechanism

#include "submix/apps/attacking/audit_verdict.h"

namespace submix::apps {
namespace {

constexpr char kRefuted[] = "REFUTED";

}  // namespace

void AddAuditErrorFlags(Flags flags, double& delta, double& error) {
  flags.Add("--delta", delta, Between(1e-300, 0.999999), "At which epsilon is compared");
  flags.Add("--error", error, Between(1e-12, 0.5), "Probability with which a bound may be wrong");
}

std::string AuditVerdict(const AttackedMechanism& attacked, bool has_claim, bool is_within) {
  if (!has_claim) return "no claim";
  if (is_within) return "not refuted";
  return attacked.mechanism->is_sound() ? kRefuted : "exceeded";
}

base::Status RefutedError(const AccountReport& report, double error) {
  for (const auto& row : report.rows) {
    if (row.at("verdict") != kRefuted) continue;
    return base::FailedPreconditionError(
        row.at("model").get<std::string>() + ": spends more than it claims (or this is the one " +
        "audit in " + std::to_string(static_cast<int>(1 / error)) + " that errs: try another " +
        "--seed and a smaller --error)");
  }
  return base::OkStatus();
}

base::Status NoMixtureError() {
  return base::InvalidArgumentError(
      "members serve no mixture to tell apart; `ensemble` is the one that is not private");
}

}  // namespace submix::apps

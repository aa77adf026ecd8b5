// `submix audit epsilon`: a lower bound on epsilon from many releases, beside the claimed one.
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_output.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/audit_command.h"
#include "submix/apps/attacking/audit_verdict.h"
#include "submix/apps/attacking/neighbour_flags.h"
#include "submix/apps/flags.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/eval/audits/privacy_claim.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct EpsilonAuditOptions {
  TargetFlags target;
  NeighbourFlags neighbour;
  OutputFlags output;
  double delta = 1e-5;
  double error = 0.05;
};

Json Row(const AttackedMechanism& attacked, const eval::PrivacyClaim& claim,
         const eval::EpsilonAudit& audit) {
  const bool has_claim = !claim.bounds.empty();
  Json row = {{"model", attacked.options.name},
              {"guarantee", attacked.Guarantee()},
              {kPromise, claim.labels}};
  row["order"] = has_claim ? OrderJson(claim.bounds.front().order) : Json();
  row["claimed_rdp"] = has_claim ? Json(claim.bounds.front().rdp) : Json();
  row["proven_at_least"] = audit.rdp;
  row["delta"] = claim.delta;
  row["claimed_epsilon"] = has_claim ? Json(claim.epsilon) : Json();
  row["epsilon_at_least"] = audit.epsilon;
  row["verdict"] = AuditVerdict(
      attacked, has_claim,
      !has_claim || (audit.rdp <= claim.bounds.front().rdp && audit.epsilon <= claim.epsilon));
  return row;
}

// The order at which a mechanism without a claim is looked at is the declared one.
divergence::RenyiOrder OrderOf(const AttackedMechanism& attacked, const eval::PrivacyClaim& claim) {
  return claim.bounds.empty() ? attacked.options.order : claim.bounds.front().order;
}

Status RunEpsilonAudit(const EpsilonAuditOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const AttackTarget target, LoadTarget(options.target));
  SUBMIX_ASSIGN_OR_RETURN(const auto games, PlayGames(options.target, options.neighbour, target));
  AccountReport report;
  report.title = "Audit of epsilon: what " + std::to_string(options.neighbour.transcripts) +
                 " transcripts of " + std::to_string(options.target.queries) +
                 " tokens in each world prove";
  char note[200];
  std::snprintf(
      note, sizeof note,
      "proven_at_least: Renyi divergence at the order; epsilon_at_least: at delta. Each is wrong "
      "with\nprobability %g at most. An audit refutes or does not; it proves no privacy.",
      options.error);
  SUBMIX_ASSIGN_OR_RETURN(report.notes, NotesOnClaims(target));
  report.notes.push_back(note);
  for (std::size_t i = 0; i < games.size(); ++i) {
    const AttackedMechanism& attacked = target.mechanisms[i];
    SUBMIX_ASSIGN_OR_RETURN(const eval::PrivacyClaim claim,
                            eval::ClaimOf(*attacked.mechanism, attacked.epsilon,
                                          UnitOf(options.neighbour), options.delta));
    eval::AuditOptions audit_options = {OrderOf(attacked, claim), options.delta, options.error};
    const eval::EpsilonAudit audit =
        eval::AuditEpsilon(games[i].with(), games[i].without(), audit_options);
    report.rows.push_back(Row(attacked, claim, audit));
    AddClaimNote(attacked, claim, report);
  }
  SUBMIX_RETURN_IF_ERROR(Deliver(options.output, target, report, {}));
  return RefutedError(report, options.error);
}

}  // namespace

void AddEpsilonAudit(CLI::App& command, Action& action) {
  EpsilonAuditOptions& options = SetAction<EpsilonAuditOptions>(command, action, RunEpsilonAudit);
  Flags flags(command);
  AddTargetFlags(command, options.target, /*takes_members=*/false);
  AddNeighbourFlags(command, options.neighbour);
  AddAuditErrorFlags(command, options.delta, options.error);
  AddTableFlags(command, options.output);
  command.footer(
      "Exit code 1 if a sound mechanism's claim is refuted.\n"
      "Example: submix audit epsilon my_ensemble --text users_own_words.txt --queries 64 \\\n      "
      "       --against filtered-submix,dclip --transcripts 100000 --ask most-telling");
}

}  // namespace submix::apps

// `submix audit`, and its sub-commands epsilon and one-run: a lower bound on epsilon beside the
// claimed one, from many transcripts of two worlds, or from a few deployments, all parts at once.
#include <functional>
#include <string>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/neighbour_flags.h"
#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/number_text.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/audits/asked_queries.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/eval/audits/one_run_audit.h"
#include "submix/eval/pages/result_tables.h"

namespace submix::apps {
namespace {

using accounting::PrivacyUnit;
using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct AuditFlags {
  TargetFlags target;
  OutputFlags output;
  double delta = accounting::kDefaultDelta;
  double error = 0.05;
};

void AddAuditFlags(Flags flags, AuditFlags& audit) {
  flags.Add("--delta", audit.delta, kDelta, "At which epsilon is compared");
  AddErrorFlag(flags, audit.error);
  AddTableFlags(flags, audit.output);
}

// Of a sound mechanism; where the claim is not proven it is only exceeded.
constexpr char kRefuted[] = "REFUTED";

std::string Verdict(const workbench::AttackedMechanism& attacked, const eval::ClaimedBounds& claim,
                    bool is_within) {
  if (claim.bounds.empty()) return "no claim";
  if (is_within) return "not refuted";
  return attacked.mechanism->is_sound() ? kRefuted : "exceeded";
}

// Adds what the audit found of the i-th mechanism to its row; whether that is within the claim.
using Finding = std::function<bool(std::size_t i, const eval::ClaimedBounds& claim, Json& row)>;

// One row a mechanism. Errors: kFailedPrecondition if a sound mechanism's claim is refuted.
Status Report(const AuditFlags& flags, const Attack& audit, PrivacyUnit unit,
              const std::string& title, const std::string& note, const Finding& find) {
  const workbench::AttackTarget& target = audit.target;
  CommandReport report;
  report.title = title;
  SUBMIX_ASSIGN_OR_RETURN(report.notes, NotesOnClaims(target));
  report.notes.push_back(note);
  std::string refuted;
  for (std::size_t i = 0; i < target.mechanisms.size(); ++i) {
    const workbench::AttackedMechanism& attacked = target.mechanisms[i];
    SUBMIX_ASSIGN_OR_RETURN(
        const eval::ClaimedBounds claim,
        eval::ClaimOf(*attacked.mechanism, attacked.epsilon, unit, flags.delta));
    Json row = {{"model", attacked.options.name},
                {"guarantee", attacked.Guarantee()},
                {eval::kPromiseColumn, claim.labels}};
    row["verdict"] = Verdict(attacked, claim, find(i, claim, row));
    if (row["verdict"] == kRefuted && refuted.empty()) refuted = attacked.options.name;
    report.rows.push_back(row);
    AddClaimNote(attacked, claim, report);
  }
  SUBMIX_RETURN_IF_ERROR(Deliver(flags.output, audit, report, {}));
  if (refuted.empty()) return base::OkStatus();
  return base::FailedPreconditionError(refuted + ": spends more than it claims" +
                                       UnlessItErrs(flags.error));
}

// --- epsilon

struct EpsilonAuditOptions {
  AuditFlags audit;
  workbench::NeighbourRequest neighbour;
};

Status RunEpsilonAudit(const EpsilonAuditOptions& options) {
  const workbench::AttackRequest request = options.audit.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto target, workbench::LoadTarget(request));
  SUBMIX_ASSIGN_OR_RETURN(const auto games,
                          workbench::PlayGames(request, options.neighbour, target));
  const auto find = [&](std::size_t i, const eval::ClaimedBounds& claim, Json& row) {
    // A mechanism without a claim is looked at where it is declared.
    const accounting::RdpBound bound =
        claim.bounds.empty() ? accounting::RdpBound{target.mechanisms[i].options.order, 0}
                             : claim.bounds.front();
    const eval::EpsilonAudit audit =
        eval::AuditEpsilon(games[i].with(), games[i].without(),
                           {bound.order, options.audit.delta, options.audit.error});
    row["order"] = claim.bounds.empty() ? Json() : OrderJson(bound.order);
    row["claimed_rdp"] = Claimed(claim, bound.rdp);
    row["proven_at_least"] = audit.rdp;
    row["delta"] = options.audit.delta;
    row["claimed_epsilon"] = Claimed(claim, claim.epsilon);
    row["epsilon_at_least"] = audit.epsilon;
    return audit.rdp <= bound.rdp && audit.epsilon <= claim.epsilon;
  };
  return Report(
      options.audit, {"audit epsilon", request.directory, target}, UnitOf(options.neighbour),
      "Audit of epsilon: what " + std::to_string(options.neighbour.transcripts) +
          " transcripts of " + std::to_string(request.tokens) + " tokens in each world prove",
      "proven_at_least: Renyi divergence at the order; epsilon_at_least: at delta. Each "
      "is wrong with probability " +
          base::NumberText(options.audit.error) +
          " at most. An audit refutes or does not; it proves no privacy.",
      find);
}

// --- one-run

struct OneRunAuditOptions {
  AuditFlags audit;
  std::string text;
  int runs = 16;
};

Status RunOneRunAudit(const OneRunAuditOptions& options) {
  const workbench::AttackRequest request = options.audit.target.Request();
  SUBMIX_ASSIGN_OR_RETURN(const auto target, workbench::LoadTarget(request));
  SUBMIX_ASSIGN_OR_RETURN(const auto games,
                          workbench::PlayOneRunGames(request, options.text, options.runs, target));
  const auto find = [&](std::size_t i, const eval::ClaimedBounds& claim, Json& row) {
    const eval::OneRunAudit audit =
        eval::AuditCoins(games[i].coins(), options.audit.delta, options.audit.error);
    row["coins"] = audit.guesses.coins;
    row["guessed"] = audit.guesses.guessed;
    row["right"] = audit.guesses.right;
    row["delta"] = options.audit.delta;
    row["claimed_epsilon"] = Claimed(claim, claim.epsilon);
    row["epsilon_at_least"] = audit.epsilon;
    return audit.epsilon <= claim.epsilon;
  };
  return Report(
      options.audit, {"audit one-run", request.directory, target}, PrivacyUnit::kPart,
      "One-run audit: " + std::to_string(options.runs) + " runs of " +
          std::to_string(request.tokens) + " tokens, every part there or not by a coin of its own",
      "Half of the coins choose how sure one must be to guess, the other half (coins) are guessed. "
      "Weaker than `submix audit epsilon` at few parts; it looks at all of them at once.",
      find);
}

void AddEpsilonAudit(CLI::App& audit, Action& action) {
  CLI::App& command =
      *audit.add_subcommand("epsilon", "A lower bound on epsilon, beside the claim");
  auto& options = SetAction<EpsilonAuditOptions>(command, action, RunEpsilonAudit);
  AddTargetFlags(command, options.audit.target);
  AddNeighbourFlags(command, options.neighbour);
  AddAuditFlags(command, options.audit);
  command.footer(
      "Exit code 1 if a sound mechanism's claim is refuted.\n"
      "Example: submix audit epsilon my_ensemble --text users_own_words.txt --tokens 64 \\\n"
      "             --against filtered-submix,dclip --transcripts 100000 --ask most-telling");
}

void AddOneRunAudit(CLI::App& audit, Action& action) {
  CLI::App& command = *audit.add_subcommand(
      "one-run", "The same for all parts at once (Steinke, Nasr and Jagielski)");
  auto& options = SetAction<OneRunAuditOptions>(command, action, RunOneRunAudit);
  Flags flags(command);
  AddTargetFlags(flags, options.audit.target);
  flags.Require("--text", options.text, kFile,
                "What is asked: each position of this text is a query. .jsonl, .csv or plain text");
  flags.Add("--runs", options.runs, Between(1, 1000000), "Deployments, each with fresh coins");
  AddAuditFlags(flags, options.audit);
  command.footer(
      "Exit code 1 if a sound mechanism's claim is refuted.\n"
      "Example: submix audit one-run my_ensemble --text text.txt --tokens 256 --runs 64");
}

}  // namespace

void AddAuditCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddEpsilonAudit(command, action);
  AddOneRunAudit(command, action);
  AddTimingAudit(command, action);
  AddCanaryAudit(command, action);
  command.footer(
      "An audit can refute a claim, never prove it: docs/attacks_and_audits.md.\n"
      "Each audit has its own help: submix audit timing --help");
}

}  // namespace submix::apps

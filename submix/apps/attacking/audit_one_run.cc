// `submix audit one-run`: all parts of a few deployments audited at once, beside the claim.
#include <memory>
#include <string>
#include <vector>

#include "submix/apps/attacking/attack_output.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/attacking/audit_command.h"
#include "submix/apps/attacking/audit_verdict.h"
#include "submix/apps/flags.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/audits/asked_queries.h"
#include "submix/eval/audits/one_run_audit.h"
#include "submix/eval/audits/privacy_claim.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct OneRunAuditOptions {
  TargetFlags target;
  OutputFlags output;
  std::string text;
  int runs = 16;
  double delta = 1e-5;
  double error = 0.05;
};

StatusOr<std::vector<eval::OneRunGame>> PlayGames(const OneRunAuditOptions& options,
                                                  const AttackTarget& target) {
  std::vector<eval::OneRunGame> games;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    const eval::OneRunOptions run_options = {target.manifest.num_parts, target.manifest.halves,
                                             attacked.epsilon, options.runs, options.target.seed};
    SUBMIX_ASSIGN_OR_RETURN(eval::OneRunGame game,
                            eval::OneRunGame::Create(attacked.mechanism, run_options));
    games.push_back(std::move(game));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, LoadTargetPredictor(options.target, target));
  SUBMIX_ASSIGN_OR_RETURN(const auto text, eval::HeldoutFromFile(options.text, *target.tokenizer,
                                                                 predictor->context_length()));
  base::ProgressBar progress("Asking", options.target.queries, "queries");
  SUBMIX_RETURN_IF_ERROR(eval::AskAllParts(*predictor, text, target.manifest.num_parts,
                                           target.manifest.halves, options.target.queries, games,
                                           progress));
  progress.Finish();
  return games;
}

Json Row(const AttackedMechanism& attacked, const eval::PrivacyClaim& claim,
         const eval::OneRunAudit& audit) {
  const bool has_claim = !claim.bounds.empty();
  Json row = {{"model", attacked.options.name},
              {"guarantee", attacked.Guarantee()},
              {kPromise, claim.labels}};
  row["coins"] = audit.guesses.coins;
  row["guessed"] = audit.guesses.guessed;
  row["right"] = audit.guesses.right;
  row["delta"] = claim.delta;
  row["claimed_epsilon"] = has_claim ? Json(claim.epsilon) : Json();
  row["epsilon_at_least"] = audit.epsilon;
  row["verdict"] = AuditVerdict(attacked, has_claim, audit.epsilon <= claim.epsilon);
  return row;
}

Status RunOneRunAudit(const OneRunAuditOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const AttackTarget target, LoadTarget(options.target));
  if (target.attacks_members) return NoMixtureError();
  SUBMIX_ASSIGN_OR_RETURN(const auto games, PlayGames(options, target));
  AccountReport report;
  report.title = "One-run audit: " + std::to_string(options.runs) + " runs of " +
                 std::to_string(options.target.queries) +
                 " tokens, every part there or not by a coin of its own";
  SUBMIX_ASSIGN_OR_RETURN(report.notes, NotesOnClaims(target));
  report.notes.push_back(
      "Half of the coins choose how sure one must be to guess, the other half (coins) are "
      "guessed.\n"
      "Weaker than `submix audit epsilon` at few parts; it looks at all of them at once.");
  for (std::size_t i = 0; i < games.size(); ++i) {
    const AttackedMechanism& attacked = target.mechanisms[i];
    SUBMIX_ASSIGN_OR_RETURN(const eval::PrivacyClaim claim,
                            eval::ClaimOf(*attacked.mechanism, attacked.epsilon,
                                          accounting::PrivacyUnit::kPart, options.delta));
    report.rows.push_back(
        Row(attacked, claim, eval::AuditCoins(games[i].coins(), options.delta, options.error)));
    AddClaimNote(attacked, claim, report);
  }
  SUBMIX_RETURN_IF_ERROR(Deliver(options.output, target, report, {}));
  return RefutedError(report, options.error);
}

}  // namespace

void AddOneRunAudit(CLI::App& command, Action& action) {
  OneRunAuditOptions& options = SetAction<OneRunAuditOptions>(command, action, RunOneRunAudit);
  Flags flags(command);
  AddTargetFlags(command, options.target, /*takes_members=*/false);
  flags.Require("--text", options.text, kFile,
                "What is asked: each position of this text is a query. .jsonl[.xz] or plain text");
  flags.Add("--runs", options.runs, Between(1, 1000000), "Deployments, each with fresh coins");
  AddAuditErrorFlags(command, options.delta, options.error);
  AddTableFlags(command, options.output);
  command.footer(
      "Exit code 1 if a sound mechanism's claim is refuted.\n"
      "Example: submix audit one-run my_ensemble --text text.txt --queries 256 --runs 64");
}

}  // namespace submix::apps

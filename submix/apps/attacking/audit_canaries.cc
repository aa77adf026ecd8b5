// `submix audit canaries`: a lower bound on the epsilon of private training, from many small
// trainings with and without a canary.
#include <algorithm>
#include <string>

#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/flags.h"
#include "submix/apps/measuring/corpus_flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/workbench/training/canary_audit.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct CanaryFlags {
  workbench::CanaryAuditRequest request;
  std::string canary = "new-tokens";
  double error = 0.05;
  OutputFlags output;
};

// What the statement says at the order of the audit's divergence: small, since rates are counted.
accounting::RdpBound ClaimAtTwo(const accounting::PrivacyStatement& statement) {
  const auto bounds = accounting::StatedBounds(statement);
  const auto two = std::ranges::find_if(bounds, [](const accounting::RdpBound& bound) {
    return bound.order == divergence::RenyiOrder::Two();
  });
  return two == bounds.end() ? bounds.front() : *two;
}

Status RunCanaryAudit(CanaryFlags& flags) {
  workbench::CanaryAuditRequest& request = flags.request;
  if (flags.canary == "odd-completion") request.kind = workbench::CanaryKind::kOddCompletion;
  request.training.threads = request.predictor.threads;
  SUBMIX_ASSIGN_OR_RETURN(const auto found, workbench::AuditByCanaries(request));
  const accounting::RdpBound claim = ClaimAtTwo(found.statement);
  const eval::EpsilonAudit audit = eval::AuditEpsilon(
      found.with, found.without, {claim.order, request.target.delta, flags.error});
  const bool is_within = audit.rdp <= claim.rdp && audit.epsilon <= found.claimed.epsilon;
  CommandReport report;
  report.title = "Canaries: what " + std::to_string(request.runs) +
                 " private trainings tell of one user who was in half of them";
  report.rows.push_back(Json{{"canary", flags.canary},
                             {"with", found.with.size()},
                             {"without", found.without.size()},
                             {"noise", found.noise_multiplier},
                             {"order", OrderJson(claim.order)},
                             {"claimed_rdp", claim.rdp},
                             {"proven_at_least", audit.rdp},
                             {"delta", request.target.delta},
                             {"claimed_epsilon", found.claimed.epsilon},
                             {"epsilon_at_least", audit.epsilon},
                             {"verdict", is_within ? "not refuted" : "REFUTED"}});
  report.statements.emplace_back("claimed_epsilon", found.statement);
  report.notes.push_back(OperatorsNote());
  report.notes.push_back(
      "Half of the trainings choose how much likelier the canary must be to guess that it was "
      "there, the other half are guessed; each bound is wrong with probability " +
      base::NumberText(flags.error) + " at most. An audit refutes or does not.");
  PrintReport(report, flags.output.json);
  if (!flags.output.csv.empty()) {
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(flags.output.csv, TableCsv(report.rows)));
  }
  if (is_within) return base::OkStatus();
  return base::FailedPreconditionError(
      request.noise_share < 1
          ? "found: the trainings add less noise than they account for (--noise-share)"
          : "the trainings tell more of one user than is promised" + UnlessItErrs(flags.error));
}

}  // namespace

void AddCanaryAudit(CLI::App& audit, Action& action) {
  CLI::App& command = *audit.add_subcommand(
      "canaries", "Private training: a lower bound on its epsilon, beside the promise");
  CanaryFlags& options = SetAction<CanaryFlags>(command, action, RunCanaryAudit);
  workbench::CanaryAuditRequest& request = options.request;
  request.training.steps = 2;
  request.training.lora->rank = 4;
  request.training.block_tokens = 33;
  // So large a floor that an update is the noisy gradient itself: what it tells is what is tested.
  request.training.adamw.denominator_floor = 10;
  request.training.learning_rate.peak = 0.02;
  request.training.learning_rate.warmup_fraction = 0;
  request.predictor.precision = "f32";  // gains are small
  Flags flags(command);
  RequireCorpus(flags, "corpus", "The other users' text", request.corpus);
  flags.Add("--public", request.public_directory, kDirectory, "The model that is trained")
      ->required();
  flags.Add("--canary", options.canary, OneOf({"new-tokens", "odd-completion"}),
            "Its text: tokens that the others do not have; or the beginning of a text of theirs, "
            "with random tokens as its completion");
  flags.Add("--canary-tokens", request.canary_tokens, kPositive, "How many of it are learnt");
  flags.Add("--users", request.users, kPositive,
            "The others: the first so many by key, of each the first block");
  flags.Add("--runs", request.runs, Between(8, 1'000'000), "Trainings");
  flags.Add("--epsilon", request.target.epsilon, kPositive, "Promised to one user by a training");
  flags.Add("--delta", request.target.delta, kDelta, "With this delta");
  flags.Add("--steps", request.training.steps, kPositive, "Of a training");
  flags.Add("--sampling", request.sampling_probability, kShare,
            "A user's probability to be in a step");
  flags.Add("--clip", request.training.clip_norm, kPositive, "Of a user's gradient");
  flags.Add("--rank", request.training.lora->rank, kPositive, "Of the adapter");
  flags.Add("--block-tokens", request.training.block_tokens, kPositive, "Of the longest block");
  flags.Add("--noise-share", request.noise_share, kShare,
            "A planted mistake: this share of the noise that is accounted for is added");
  flags.Add("--seed", request.seed, "Of coins, canary and noise");
  AddErrorFlag(flags, options.error);
  AddModelFlags(command, request.predictor);
  AddTableFlags(flags, options.output);
  command.footer(
      "The trainings are DP-SGD as `submix train --private dp-sgd` does it, of few users and\n"
      "steps. Exit code 1 if the promise is refuted; try it with --noise-share 0.5.\n"
      "Example: submix audit canaries text.jsonl --public gpt2 --epsilon 4 --runs 400");
}

}  // namespace submix::apps

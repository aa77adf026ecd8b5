// `submix attack`: what an attacker gets out of models and mechanisms. `submix audit`: is what is
// claimed true, and does the private side show where it must not?
#include "submix/apps/program_commands.h"

namespace submix::apps {

void AddAttackCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddExtractionAttack(command, action);
  AddExposureAttack(command, action);
  AddTargetedAttack(command, action);
  AddMembershipAttack(command, action);
  command.footer(
      "Against any mechanism under any budget, or the members themselves, on an ensemble or a\n"
      "deployment. Nothing is charged: every attack has budgets of its own, in memory. What each\n"
      "number says and does not say: docs/attacks_and_audits.md.");
}

void AddAuditCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddEpsilonAudit(command, action);
  AddOneRunAudit(command, action);
  AddTimingAudit(command, action);
  command.footer(
      "An audit can refute a claim, never prove it: docs/attacks_and_audits.md.\n"
      "Each audit has its own help: submix audit timing --help");
}

}  // namespace submix::apps

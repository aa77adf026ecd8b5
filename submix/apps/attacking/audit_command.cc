// `submix audit`: is what is claimed true, and does the private side show where it must not?
#include "submix/apps/attacking/audit_command.h"

#include "submix/apps/program_commands.h"

namespace submix::apps {

void AddAuditCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddEpsilonAudit(*command.add_subcommand("epsilon", "A lower bound on epsilon, beside the claim"),
                  action);
  AddOneRunAudit(*command.add_subcommand(
                     "one-run", "The same for all parts at once (Steinke, Nasr and Jagielski)"),
                 action);
  AddTimingAudit(*command.add_subcommand("timing", "What a client can tell by the clock"), action);
  command.footer(
      "An audit can refute a claim, never prove it: docs/attacks_and_audits.md.\n"
      "Each audit has its own help: submix audit timing --help");
}

}  // namespace submix::apps

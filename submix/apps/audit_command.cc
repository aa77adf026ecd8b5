// `submix audit`: does the private side show where it must not?
#include "submix/apps/audit_command.h"

#include "submix/apps/program_commands.h"

namespace submix::apps {

void AddAuditCommand(CLI::App& command, Action& action) {
  command.require_subcommand(1);
  AddTimingAudit(*command.add_subcommand("timing", "What a client can tell by the clock"), action);
  command.footer("Each audit has its own help: submix audit timing --help");
}

}  // namespace submix::apps

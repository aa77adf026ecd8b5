// `submix`: the program people call. What trains needs libtorch and is run by `submix-train` beside
// it.
#include <string>

#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/training/plan_times.h"

int main(int argc, char** argv) {
  using namespace submix::apps;
  SetTimesMeasure([argv](const std::string&, double) -> submix::base::StatusOr<MachineTimes> {
    return RunOtherProgram(argv, "submix-train");
  });
  constexpr Command kOwn[] = {
      {"tokenizer", AddTokenizerCommand}, {"deploy", AddDeployCommand},
      {"generate", AddGenerateCommand},   {"synthesize", AddSynthesizeCommand},
      {"serve", AddServeCommand},         {"evaluate", AddEvaluateCommand},
      {"score", AddScoreCommand},         {"compare", AddCompareCommand},
      {"report", AddReportCommand},       {"attack", AddAttackCommand},
      {"audit", AddAuditCommand},         {"key", AddKeyCommand},
      {"budget", AddBudgetCommand},       {"account", AddAccountCommand},
      {"contexts", AddContextsCommand},   {"plan", AddPlanCommand},
      {"relocate", AddRelocateCommand},
  };
  return RunProgram(argc, argv, kOwn, "submix-train");
}

// The commands of both programs and the sub-commands of three of them, each in a file of its own
// name.
#pragma once

#include "submix/apps/command.h"

namespace submix::apps {

// Run by `submix`, which has no libtorch and starts in milliseconds.
void AddTokenizerCommand(CLI::App& command, Action& action);
void AddDeclareCommand(CLI::App& command, Action& action);
void AddDeployCommand(CLI::App& command, Action& action);
void AddKeyCommand(CLI::App& command, Action& action);
void AddBudgetCommand(CLI::App& command, Action& action);
void AddCacheCommand(CLI::App& command, Action& action);
void AddRelocateCommand(CLI::App& command, Action& action);
void AddAccountCommand(CLI::App& command, Action& action);
void AddCompareCommand(CLI::App& command, Action& action);
void AddContextsCommand(CLI::App& command, Action& action);
void AddReportCommand(CLI::App& command, Action& action);
void AddServeCommand(CLI::App& command, Action& action);

// Run by both: with libtorch's predictor in `submix-train`, which alone measures times of training.
void AddPlanCommand(CLI::App& command, Action& action);
void AddGenerateCommand(CLI::App& command, Action& action);
void AddClassifyCommand(CLI::App& command, Action& action);
void AddSynthesizeCommand(CLI::App& command, Action& action);
void AddEvaluateCommand(CLI::App& command, Action& action);
void AddScoreCommand(CLI::App& command, Action& action);
void AddAttackCommand(CLI::App& command, Action& action);
void AddAuditCommand(CLI::App& command, Action& action);

// Run by `submix-train`.
void AddPretrainCommand(CLI::App& command, Action& action);
void AddTrainCommand(CLI::App& command, Action& action);
void AddFedavgCommand(CLI::App& command, Action& action);
void AddWorthCommand(CLI::App& command, Action& action);
void AddForgetCommand(CLI::App& command, Action& action);
void AddReproduceCommand(CLI::App& command, Action& action);

// Of `attack` and `audit`, beside those in the files of these.
void AddMembershipAttack(CLI::App& attack, Action& action);
void AddTimingAudit(CLI::App& audit, Action& action);
void AddCanaryAudit(CLI::App& audit, Action& action);
// Of `account`, for mechanisms that are counted: the same run a number of times, fixed beforehand.
// NAME says what a number costs, `plan NAME` also how many an epsilon buys.
void AddCountedSubcommands(CLI::App& account, Action& action);

}  // namespace submix::apps

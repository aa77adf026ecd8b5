// `submix`: the program people call. What trains needs libtorch and is run by `submix-train` beside
// it.
#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"

int main(int argc, char** argv) {
  using submix::apps::Command;
  const Command commands[] = {
      {"demo", "The whole story on bundled data, in a few minutes", nullptr},
      {"tokenizer", "Learn a byte-level BPE tokenizer from text",
       &submix::apps::AddTokenizerCommand},
      {"pretrain", "Train a public GPT-2-architecture model from text (resumable)", nullptr},
      {"train", "Train a private ensemble on user-keyed text (resumable)", nullptr},
      {"fedavg", "Train one model on users' text with user-level privacy, in rounds (resumable)",
       nullptr},
      {"deploy", "Declare mechanism and budget for an ensemble; makes the ledger",
       &submix::apps::AddDeployCommand},
      {"generate", "Complete a prompt privately, charging the ledger",
       &submix::apps::AddGenerateCommand},
      {"serve", "Answer over HTTP, as OpenAI's API does", &submix::apps::AddServeCommand},
      {"evaluate", "Held-out perplexity of mechanisms and baselines",
       &submix::apps::AddEvaluateCommand},
      {"report", "One page about a deployment that a privacy officer can read",
       &submix::apps::AddReportCommand},
      {"reproduce", "A figure or table of the papers, from text to picture", nullptr},
      {"attack", "Extraction, exposure, membership: what attackers get out",
       &submix::apps::AddAttackCommand},
      {"audit", "Put what is claimed to the test: epsilon, and what the clock tells",
       &submix::apps::AddAuditCommand},
      {"key", "Make, list and revoke the API keys of a deployment", &submix::apps::AddKeyCommand},
      {"budget", "What a deployment's ledger holds; verify its chain",
       &submix::apps::AddBudgetCommand},
      {"account", "What releases cost, and how many an epsilon buys: the calculator",
       &submix::apps::AddAccountCommand},
      {"forget", "Unlearn a user: retrain the one member that read the text", nullptr},
  };
  return submix::apps::RunProgram(argc, argv, commands, "submix-train");
}

// `submix-train`: the commands that need libtorch. `submix` runs it; it can be called alone.
#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/train/torch_environment.h"

int main(int argc, char** argv) {
  using submix::apps::Command;
  submix::train::PrepareTorchProcess(argv);
  const Command commands[] = {
      {"demo", "The whole story on bundled data, in a few minutes", &submix::apps::AddDemoCommand},
      {"pretrain", "Train a public GPT-2-architecture model from text (resumable)",
       &submix::apps::AddPretrainCommand},
      {"train", "Train a private ensemble on user-keyed text (resumable)",
       &submix::apps::AddTrainCommand},
      {"generate", "Complete a prompt privately, charging the ledger",
       &submix::apps::AddGenerateCommand},
      {"evaluate", "Held-out perplexity of mechanisms and baselines",
       &submix::apps::AddEvaluateCommand},
      {"forget", "Unlearn a user: retrain the one half that held the text",
       &submix::apps::AddForgetCommand},
  };
  return submix::apps::RunProgram(argc, argv, commands, "submix");
}

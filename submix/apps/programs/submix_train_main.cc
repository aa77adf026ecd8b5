// `submix-train`: the commands that need libtorch. `submix` runs it; it can be called alone.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/predictor_flags.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/numerics/torch_environment.h"

namespace {

using submix::base::StatusOr;
using submix::ensemble::Predictor;

StatusOr<std::unique_ptr<Predictor>> LoadTorchPredictor(
    const submix::apps::PredictorFlags& flags, const std::string& public_directory,
    const std::vector<std::string>& member_directories) {
  if (flags.precision == "int8") {
    return submix::base::UnimplementedError("the torch predictor has no int8; use f32 or bf16");
  }
  submix::train::TorchPredictorOptions options;
  options.public_directory = public_directory;
  options.member_directories = member_directories;
  options.precision = flags.precision == "f32" ? submix::train::Precision::kFloat32
                                               : submix::train::Precision::kBfloat16;
  options.threads = flags.threads;
  return submix::train::TorchPredictor::Load(options);
}

// Whether this is one of several processes, and the command would do the same in all of them.
bool IsStartedTooOften(std::string_view command) {
  if (submix::apps::NumStartedRanks() == 1 || command == "fedavg" || command == "train") {
    return false;
  }
  const char* const rank = std::getenv("PMIX_RANK");
  if (rank == nullptr || std::string_view(rank) == "0") {
    std::fprintf(stderr,
                 "submix: only fedavg and train are spread over several processes; start all else "
                 "in one process, without mpirun\n");
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using submix::apps::Command;
  if (IsStartedTooOften(argc > 1 ? argv[1] : "")) return 2;
  submix::train::PrepareTorchProcess(argv);
  submix::apps::SetTorchPredictorLoader(LoadTorchPredictor);
  const Command commands[] = {
      {"demo", "The whole story on bundled data, in a few minutes", &submix::apps::AddDemoCommand},
      {"pretrain", "Train a public GPT-2-architecture model from text (resumable)",
       &submix::apps::AddPretrainCommand},
      {"train", "Train a private ensemble on user-keyed text (resumable)",
       &submix::apps::AddTrainCommand},
      {"fedavg", "Train one model on users' text with user-level privacy, in rounds (resumable)",
       &submix::apps::AddFedavgCommand},
      {"generate", "Complete a prompt privately, charging the ledger",
       &submix::apps::AddGenerateCommand},
      {"evaluate", "Held-out perplexity of mechanisms and baselines",
       &submix::apps::AddEvaluateCommand},
      {"reproduce", "A figure or table of the papers, from text to picture",
       &submix::apps::AddReproduceCommand},
      {"attack", "Extraction, exposure, membership: what attackers get out",
       &submix::apps::AddAttackCommand},
      {"audit", "Put what is claimed to the test: epsilon, and what the clock tells",
       &submix::apps::AddAuditCommand},
      {"forget", "Unlearn a user: retrain the one member that read the text",
       &submix::apps::AddForgetCommand},
  };
  return submix::apps::LeaveRanks(submix::apps::RunProgram(argc, argv, commands, "submix"));
}

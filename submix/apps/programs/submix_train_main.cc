// `submix-train`: the commands that need libtorch. `submix` runs it; it can be called alone.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/training/process_ranks.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/workbench/models/torch_models.h"

namespace submix {

base::StatusOr<std::unique_ptr<ensemble::Predictor>> workbench::LoadTorchPredictor(
    const ModelOptions& options, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size) {
  if (options.precision.starts_with("int")) {
    return base::UnimplementedError("the torch predictor has no " + options.precision +
                                    "; use f32 or bf16");
  }
  train::TorchPredictorOptions models;
  models.public_directory = public_directory;
  models.member_directories = member_directories;
  models.vocab_size = vocab_size;
  models.precision = train::PrecisionOf(options.precision);
  models.threads = options.threads;
  return train::TorchPredictor::Load(models);
}

}  // namespace submix

namespace {

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

// `demo` is a script of the other commands, which are this program's and those of `submix` beside
// it. Installed it is in share/submix, else in the source tree. Returns only if that fails.
int RunDemo(char** argv) {
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::string script = folder.parent_path() / "share" / "submix" / "demo.sh";
  if (!std::filesystem::exists(script, error)) script = SUBMIX_SCRIPTS "/demo.sh";
  ::setenv("SUBMIX", (folder / "submix").c_str(), 1);
  argv[1] = script.data();  // what is behind it are the script's options
  ::execv(script.c_str(), argv + 1);
  std::fprintf(stderr, "submix: cannot run %s: %s\n", script.c_str(), std::strerror(errno));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace submix::apps;
  if (IsStartedTooOften(argc > 1 ? argv[1] : "")) return 2;
  if (argc > 1 && std::string_view(argv[1]) == "demo") return RunDemo(argv);
  submix::train::PrepareTorchProcess(argv);
  constexpr Command kOwn[] = {
      {"pretrain", AddPretrainCommand},   {"train", AddTrainCommand},
      {"fedavg", AddFedavgCommand},       {"generate", AddGenerateCommand},
      {"classify", AddClassifyCommand},   {"synthesize", AddSynthesizeCommand},
      {"evaluate", AddEvaluateCommand},   {"score", AddScoreCommand},
      {"reproduce", AddReproduceCommand}, {"attack", AddAttackCommand},
      {"audit", AddAuditCommand},         {"forget", AddForgetCommand},
      {"worth", AddWorthCommand},         {"plan", AddPlanCommand},
  };
  return LeaveRanks(RunProgram(argc, argv, kOwn, "submix"));
}

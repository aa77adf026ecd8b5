// `submix`: the program people call. What trains needs libtorch and is run by `submix-train` beside
// it.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/workbench/models/torch_models.h"
#include "submix/workbench/training/measured_times.h"

namespace submix {
namespace {

base::Status NoTorch() {
  return base::UnimplementedError(
      "this program has no libtorch; run the same command with submix-train instead of submix");
}

// `plan --minutes` trains for some seconds.
bool MeasuresTraining(std::span<char*> arguments) {
  return std::ranges::any_of(arguments, [](std::string_view argument) {
    return argument == "--minutes" || argument.starts_with("--minutes=");
  });
}

}  // namespace

base::StatusOr<std::unique_ptr<ensemble::Predictor>> workbench::LoadTorchPredictor(
    const ModelOptions&, const std::string&, const std::vector<std::string>&, int) {
  return NoTorch();
}

base::StatusOr<eval::MachineTimes> workbench::MeasureTimes(const std::string&, double) {
  return NoTorch();
}

}  // namespace submix

int main(int argc, char** argv) {
  using namespace submix::apps;
  constexpr Command kOwn[] = {
      {"tokenizer", AddTokenizerCommand},
      {"deploy", AddDeployCommand},
      {"generate", AddGenerateCommand},
      {"classify", AddClassifyCommand},
      {"synthesize", AddSynthesizeCommand},
      {"serve", AddServeCommand},
      {"evaluate", AddEvaluateCommand},
      {"score", AddScoreCommand},
      {"compare", AddCompareCommand},
      {"report", AddReportCommand},
      {"attack", AddAttackCommand},
      {"audit", AddAuditCommand},
      {"key", AddKeyCommand},
      {"budget", AddBudgetCommand},
      {"account", AddAccountCommand},
      {"contexts", AddContextsCommand},
      {"relocate", AddRelocateCommand},
      {"declare", AddDeclareCommand},
      {"cache", AddCacheCommand},
      {"plan", AddPlanCommand},
  };
  std::span<const Command> own = kOwn;
  if (submix::MeasuresTraining({argv, static_cast<std::size_t>(argc)})) {
    own = own.first(own.size() - 1);  // without `plan`
  }
  return RunProgram(argc, argv, own, "submix-train");
}

// `submix`: the program people call. What trains needs libtorch and is run by `submix-train` beside
// it.
#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/command.h"
#include "submix/apps/program_commands.h"
#include "submix/workbench/models/torch_models.h"
#include "submix/workbench/training/canary_audit.h"
#include "submix/workbench/training/measured_times.h"

namespace submix {
namespace {

base::Status NoTorch() {
  return base::UnimplementedError(
      "this program has no libtorch; run the same command with submix-train instead of submix");
}

// `plan --minutes` trains for some seconds, and `audit canaries` trains.
bool Trains(const apps::Command& command, std::span<char*> arguments) {
  const auto is_said = [&](std::string_view word) {
    return std::ranges::any_of(arguments, [&](std::string_view argument) {
      return argument == word || argument.starts_with(std::string(word) + "=");
    });
  };
  return (command.name == "plan" && is_said("--minutes")) ||
         (command.name == "audit" && arguments.size() > 2 &&
          std::string_view(arguments[2]) == "canaries");
}

}  // namespace

base::StatusOr<std::unique_ptr<ensemble::Predictor>> workbench::LoadTorchPredictor(
    const ModelOptions&, const std::string&, const std::vector<std::string>&, int) {
  return NoTorch();
}

base::StatusOr<eval::MachineTimes> workbench::MeasureTimes(const std::string&, double) {
  return NoTorch();
}

base::StatusOr<workbench::CanaryAudit> workbench::AuditByCanaries(const CanaryAuditRequest&) {
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
  std::vector<Command> own;
  std::ranges::remove_copy_if(kOwn, std::back_inserter(own), [&](const Command& command) {
    return submix::Trains(command, {argv, static_cast<std::size_t>(argc)});
  });
  return RunProgram(argc, argv, own, "submix-train");
}

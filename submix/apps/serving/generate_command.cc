// `submix generate`: a private completion in the terminal.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/serving/request_flags.h"

namespace submix::apps {
namespace {

struct GenerateOptions {
  std::string deployment;
  std::string prompt;
  int completions = 1;
  bool json = false;
  workbench::ModelOptions predictor;
  engine::Request request;
  ShapeFlags shape;
};

std::string ReadStandardInput() {
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

// One completion: streamed to the terminal, or as one JSON object at its end.
base::Status Complete(engine::EngineCore& core, const GenerateOptions& options) {
  std::string text;
  int tokens = 0;
  engine::AnswerEnd end = engine::AnswerEnd::kNotYet;
  const base::Status status = core.Generate(options.request, [&](const engine::TokenEvent& event) {
    text += event.text;
    ++tokens;
    end = event.end;
    if (options.json) return;
    std::fwrite(event.text.data(), 1, event.text.size(), stdout);
    std::fflush(stdout);
  });
  if (!options.json) std::printf("\n");  // an error begins on a line of its own
  std::fflush(stdout);
  if (status.ok() && options.json) {
    const nlohmann::json object = {{"prompt", options.prompt},
                                   {"text", text},
                                   {"tokens", tokens},
                                   {"finish_reason", FinishText(end)}};
    std::printf("%s\n",
                object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  }
  return status;
}

base::Status RunGenerate(GenerateOptions options) {
  if (options.prompt == "-") options.prompt = ReadStandardInput();
  SUBMIX_ASSIGN_OR_RETURN(const auto deployed,
                          OpenDeployedEngine(options.deployment, options.predictor));
  SUBMIX_ASSIGN_OR_RETURN(options.request.prompt,
                          deployed->tokenizer->EncodePrompt(options.prompt));
  SUBMIX_ASSIGN_OR_RETURN(const auto shape, AskedShape(options.shape));
  if (shape) {
    SUBMIX_ASSIGN_OR_RETURN(options.request.shape, deployed->core->CompileShape(*shape));
  }
  SUBMIX_RETURN_IF_ERROR(deployed->core->Check(options.request));
  for (int i = 0; i < options.completions; ++i) {
    if (!options.json) std::printf("%s", options.prompt.c_str());
    SUBMIX_RETURN_IF_ERROR(Complete(*deployed->core, options));
  }
  return base::OkStatus();
}

}  // namespace

void AddGenerateCommand(CLI::App& command, Action& action) {
  GenerateOptions& options = SetAction<GenerateOptions>(command, action, RunGenerate);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Require("prompt", options.prompt, "Text to complete, or - to read it from stdin");
  AddRequestFlags(command, options.request);
  AddShapeFlags(command, options.shape);
  flags.Add("-n,--completions", options.completions, kPositive,
            "How many; each is charged for itself");
  AddModelFlags(command, options.predictor);
  flags.Add("--json", options.json, "One JSON object a completion");
  command.footer(
      "Every token that is drawn is charged to the deployment's ledger before it appears; what a\n"
      "shape forces (--choice, --regex, --json-schema) costs nothing.\n"
      "It answers whoever may read the deployment's own files, so it asks for no --research, as\n"
      "`submix serve` does for clients: what a mechanism that is not proven says here is the\n"
      "operator's to pass on or not.\n"
      "Example: submix generate my_deployment \"My lord,\" --max-tokens 40 --temperature 0.8");
}

}  // namespace submix::apps

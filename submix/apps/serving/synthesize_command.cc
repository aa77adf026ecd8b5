// `submix synthesize`: many documents from a deployment, into a file.
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/flags.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/serving/request_flags.h"
#include "submix/workbench/synthesis/synthesis_run.h"

namespace submix::apps {
namespace {

using base::Status;
using Json = nlohmann::ordered_json;

struct SynthesizeOptions {
  std::string deployment;
  std::string prompts;
  std::string text_template;
  std::vector<std::string> labels;
  std::optional<std::int64_t> documents;
  bool json = false;
  workbench::ModelOptions models{.sequences = 16};
  workbench::SynthesisOrder order;
  ShapeFlags shape;
};

void PrintJson(const workbench::SynthesisResult& result) {
  const Json summary = {{"documents", result.documents},
                        {"written_now", result.written_now},
                        {"tokens", result.tokens},
                        {"tokens_now", result.drawn_now},
                        {"promise", accounting::PromiseJson<Json>(result.promise)},
                        {"statement", result.promise.Lines()}};
  std::printf("%s\n", summary.dump().c_str());
}

void PrintText(const workbench::SynthesisOrder& order, const workbench::SynthesisResult& result) {
  std::printf("%s: %lld documents of %lld tokens, %lld of them written now\n\n%s",
              order.out.c_str(), static_cast<long long>(result.documents),
              static_cast<long long>(result.tokens), static_cast<long long>(result.written_now),
              result.promise.ToText().c_str());
  if (order.deployments.size() > 1) {
    std::printf("\nThis is one batch's promise, and all batches': one user's text is in one.\n");
  }
}

Status RunSynthesize(SynthesizeOptions& options) {
  SayGoesOnAtInterrupt();
  workbench::SynthesisOrder& order = options.order;
  SUBMIX_RETURN_IF_ERROR(workbench::SetPrompts(options.prompts, options.text_template,
                                               options.labels, options.documents, order));
  SUBMIX_ASSIGN_OR_RETURN(order.deployments, workbench::DeploymentsIn(options.deployment));
  order.at_a_time = options.models.sequences;
  SUBMIX_ASSIGN_OR_RETURN(order.shape, AskedShape(options.shape));
  if (order.messages > 0 && (order.shape || !order.request.stop.empty())) {
    return base::InvalidArgumentError(
        "--messages: the template ends messages; leave --stop and shapes out");
  }
  const auto ask = [&](const std::string& deployment) {
    return OpenDeployedEngine(deployment, options.models);
  };
  SUBMIX_ASSIGN_OR_RETURN(const workbench::SynthesisResult result,
                          workbench::RunSynthesis(order, {ReadDeployment, ask}));
  if (options.json) {
    PrintJson(result);
  } else {
    PrintText(order, result);
  }
  return base::OkStatus();
}

}  // namespace

void AddSynthesizeCommand(CLI::App& command, Action& action) {
  SynthesizeOptions& options = SetAction<SynthesizeOptions>(command, action, RunSynthesize);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Require("out", options.order.out,
                "File of documents to write, one JSON object a line; the promise goes to "
                "OUT.statement.json");
  flags.Add("--documents", options.documents, Between(1, 10'000'000),
            "How many; default: one for each prompt");
  CLI::Option* const prompts = flags.Add(
      "--prompts", options.prompts, kFile,
      "Public prompts: one a line, or {\"prompt\": \"…\"} in a .jsonl file; they take turns");
  CLI::Option* const labels =
      flags.Add("--labels", options.labels,
                "Public labels for --template, each with a number of documents: good:120,bad:80");
  labels->needs(flags.Add("--template", options.text_template, "Public prompt with {label} in it")
                    ->needs(labels)
                    ->excludes(prompts));
  flags
      .Add("--messages", options.order.messages, Between(2, 64),
           "Write conversations of so many messages, users' and answers in turns, in the model's "
           "chat template; a prompt is the first. --max-tokens is of each")
      ->default_str("texts");
  AddRequestFlags(command, options.order.request);
  AddShapeFlags(command, options.shape);
  flags.Add("--at-a-time", options.models.sequences, Between(1, 4096), "Documents in a step");
  AddModelFlags(command, options.models);
  flags.Add("--json", options.json, "One JSON object at the end");
  command.footer(
      "Every token is charged before it is drawn; what leaves may be kept and passed on without\n"
      "further cost. Without prompts, documents begin as texts of the corpus do. Interrupted?\n"
      "The same command goes on with the documents that are missing; those that had not ended\n"
      "are written anew, and what they were charged stays charged. Of a model that was trained\n"
      "privately (`submix deploy my_model/released my_deployment --mechanism public`) every\n"
      "number of documents is free.\n"
      "Example: submix synthesize my_deployment reviews.jsonl --max-tokens 128 \\\n"
      "             --template \"A {label} review: \" --labels good:120,bad:80");
}

}  // namespace submix::apps

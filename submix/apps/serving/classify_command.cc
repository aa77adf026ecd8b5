// `submix classify`: a label for every item of a file, each for one paid token.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/flags.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/corpus/text_lines.h"
#include "submix/workbench/synthesis/synthesis_run.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct ClassifyOptions {
  std::string deployment;
  std::string items;
  std::string text_template;
  std::string out;
  bool json = false;
  workbench::ModelOptions models{.sequences = 16};
  workbench::SynthesisOrder order;
};

// How often each label was drawn, and how often it was the one that the item's file says.
struct LabelCounts {
  std::map<std::string, std::int64_t> drawn;
  std::int64_t known = 0;
  std::int64_t right = 0;
};

StatusOr<LabelCounts> CountLabels(const std::string& path) {
  LabelCounts counts;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        SUBMIX_ASSIGN_OR_RETURN(const auto item,
                                base::JsonObject::Parse(text, path + ":" + std::to_string(line)));
        SUBMIX_ASSIGN_OR_RETURN(const std::string label, item.Text("label"));
        ++counts.drawn[label];
        if (!item.Has("completion")) return base::OkStatus();
        ++counts.known;
        SUBMIX_ASSIGN_OR_RETURN(const std::string expected, item.Text("completion"));
        counts.right += label == expected ? 1 : 0;
        return base::OkStatus();
      }));
  return counts;
}

void PrintJson(const workbench::SynthesisResult& result, const LabelCounts& counts) {
  Json summary = {{"items", result.documents},
                  {"labelled_now", result.written_now},
                  {"labels", counts.drawn},
                  {"known", counts.known},
                  {"right", counts.right},
                  {"promise", accounting::PromiseJson<Json>(result.promise)},
                  {"statement", result.promise.Lines()}};
  std::printf("%s\n", summary.dump().c_str());
}

void PrintText(const workbench::SynthesisOrder& order, const workbench::SynthesisResult& result,
               const LabelCounts& counts) {
  std::printf("%s: %lld items, %lld of them labelled now\n", order.out.c_str(),
              static_cast<long long>(result.documents), static_cast<long long>(result.written_now));
  for (const std::string& label : order.labels) {
    const auto drawn = counts.drawn.find(label);
    std::printf("  %-20s %lld\n", label.c_str(),
                static_cast<long long>(drawn == counts.drawn.end() ? 0 : drawn->second));
  }
  if (counts.known > 0) {
    const double share = static_cast<double>(counts.right) / static_cast<double>(counts.known);
    std::printf("right: %lld of the %lld whose label was given (%s)\n",
                static_cast<long long>(counts.right), static_cast<long long>(counts.known),
                base::FixedText(share, 3).c_str());
  }
  std::printf("\n%s", result.promise.ToText().c_str());
}

// As it is written on a command line.
std::string WithLineEnds(std::string text) {
  for (std::size_t at = 0; (at = text.find("\\n", at)) != std::string::npos; ++at) {
    text.replace(at, 2, "\n");
  }
  return text;
}

Status RunClassify(ClassifyOptions& options) {
  SayGoesOnAtInterrupt();
  workbench::SynthesisOrder& order = options.order;
  SUBMIX_ASSIGN_OR_RETURN(
      order.prompts,
      workbench::ItemsFromFile(options.items, WithLineEnds(options.text_template), order.labels));
  order.documents = std::ssize(order.prompts);
  order.out = options.out.empty() ? options.items + ".labels.jsonl" : options.out;
  order.at_a_time = options.models.sequences;
  SUBMIX_ASSIGN_OR_RETURN(order.deployments, workbench::DeploymentsIn(options.deployment));
  const auto ask = [&](const std::string& deployment) {
    return OpenDeployedEngine(deployment, options.models);
  };
  SUBMIX_ASSIGN_OR_RETURN(const workbench::SynthesisResult result,
                          workbench::RunSynthesis(order, {ReadDeployment, ask}));
  SUBMIX_ASSIGN_OR_RETURN(const LabelCounts counts, CountLabels(order.out));
  if (options.json) {
    PrintJson(result, counts);
  } else {
    PrintText(order, result, counts);
  }
  return base::OkStatus();
}

}  // namespace

void AddClassifyCommand(CLI::App& command, Action& action) {
  ClassifyOptions& options = SetAction<ClassifyOptions>(command, action, RunClassify);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Require("items", options.items, kFile,
                "What to label: one text a line, or in a .jsonl file {\"prompt\": \"…\"} or "
                "{\"text\": \"…\"}, beside it the right \"completion\" where that is known");
  flags
      .Add("--labels", options.order.labels,
           "At least two: a,b,c; what the completions were that the members learnt")
      ->required()
      ->default_str("");
  flags.Add("--prompt", options.text_template,
            "What is asked, with {text} in it for an item's text and \\n for the end of a line; "
            "default: the text alone");
  flags.Add("--out", options.out, "Where labels go; default: ITEMS.labels.jsonl");
  flags.Add("--temperature", options.order.request.sampling.temperature, kPositive,
            "Sharpens (< 1) or flattens (> 1) every model before mixing");
  flags.Add("--at-a-time", options.models.sequences, Between(1, 4096), "Items in a step");
  AddModelFlags(command, options.models);
  flags.Add("--json", options.json, "One JSON object at the end");
  command.footer(
      "A label is one draw from the private mixture, and is charged as one token, however many\n"
      "tokens its name has. Train members on records of the same form: {\"user\": \"…\",\n"
      "\"prompt\": \"…\", \"completion\": LABEL}. A chat model is asked in its own template, and\n"
      "of others a space stands between prompt and label. `submix evaluate --labels` says how\n"
      "often public, private and non-private models are right, without a deployment.\n"
      "Interrupted? The same command goes on with the items that are missing.\n"
      "Example: submix classify my_deployment reviews.jsonl --labels positive,negative \\\n"
      "             --prompt \"{text}\\nSentiment:\"");
}

}  // namespace submix::apps

// `submix synthesize`: many documents from a deployment, into a file.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/accounting/promise.h"
#include "submix/apps/flags.h"
#include "submix/apps/interrupt.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/serving/any_deployment.h"
#include "submix/apps/serving/document_file.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/apps/serving/request_flags.h"
#include "submix/base/json_object.h"
#include "submix/base/number_text.h"
#include "submix/base/progress_bar.h"
#include "submix/corpus/text_lines.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/synthesis.h"
#include "submix/ensemble/batches.h"
#include "submix/tokenizer/characters.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

// --- What documents are to be about

// Public, and for one document each.
struct DocumentPrompt {
  std::string text;
  std::string label;  // that `text` was made of; empty: none
};

StatusOr<std::string> ReadPrompt(const std::string& path, std::int64_t line,
                                 std::string_view text) {
  const std::string where = path + ":" + std::to_string(line);
  if (path.ends_with(".jsonl")) {
    SUBMIX_ASSIGN_OR_RETURN(const auto object, base::JsonObject::Parse(text, where));
    return object.Text("prompt");
  }
  if (tokenizer::FindIllFormed(text, 0) == text.size()) return std::string(text);
  return base::InvalidArgumentError(where + ": not UTF-8: convert the file to UTF-8");
}

// Of a file: one a line, blank lines skipped; in a .jsonl file {"prompt": "…"}. Errors: those of
// corpus::ReadLines and JsonObject; kInvalidArgument for a file without any.
StatusOr<std::vector<DocumentPrompt>> PromptsFromFile(const std::string& path) {
  std::vector<DocumentPrompt> prompts;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) return base::OkStatus();
        SUBMIX_ASSIGN_OR_RETURN(std::string prompt, ReadPrompt(path, line, text));
        prompts.push_back({std::move(prompt), ""});
        return base::OkStatus();
      }));
  if (prompts.empty()) return base::InvalidArgumentError(path + ": no prompt: give one a line");
  return prompts;
}

struct LabelCount {
  std::string label;
  int documents = 0;
};

StatusOr<LabelCount> ParseLabel(const std::string& text) {
  constexpr int kMostDocuments = 10'000'000;
  LabelCount label;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    label.label = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    const auto [parsed_to, error] = std::from_chars(text.data() + colon + 1, end, label.documents);
    if (error != std::errc() || parsed_to != end) label.documents = 0;
  }
  if (label.documents >= 1 && label.documents <= kMostDocuments) return label;
  return base::InvalidArgumentError(
      "--labels: expected a label and how many documents, such as "
      "good:120, found " +
      base::Quoted(text));
}

// A template with `text` in every place. What the text itself holds is no place.
std::string Filled(std::string text_template, std::string_view place, const std::string& text) {
  for (std::size_t at = 0; (at = text_template.find(place, at)) != std::string::npos;) {
    text_template.replace(at, place.size(), text);
    at += text.size();
  }
  return text_template;
}

// Of a template that holds "{label}", and labels with how many documents each is for, "good:120".
// They take turns, so that a beginning of the list is as balanced as the whole. Errors:
// kInvalidArgument for any other template or label.
StatusOr<std::vector<DocumentPrompt>> PromptsFromLabels(const std::string& text_template,
                                                        const std::vector<std::string>& labels) {
  constexpr std::string_view kPlace = "{label}";
  if (text_template.find(kPlace) == std::string::npos || labels.empty()) {
    return base::InvalidArgumentError(
        "--template: needs --labels, and {label} in its text where they go");
  }
  std::vector<LabelCount> counts;
  for (const std::string& text : labels) {
    SUBMIX_ASSIGN_OR_RETURN(auto count, ParseLabel(text));
    counts.push_back(std::move(count));
  }
  std::vector<DocumentPrompt> prompts;
  while (!counts.empty()) {
    for (LabelCount& count : counts) {
      prompts.push_back({Filled(text_template, kPlace, count.label), count.label});
      --count.documents;
    }
    std::erase_if(counts, [](const LabelCount& count) { return count.documents == 0; });
  }
  return prompts;
}

// --- The command

struct SynthesizeOptions {
  std::string deployment;
  std::string out;
  std::string prompts;
  std::string text_template;
  std::vector<std::string> labels;
  std::optional<std::int64_t> documents;
  bool json = false;
  workbench::ModelOptions predictor{.sequences = 16};
  engine::Request request;
};

// Document i has prompt i modulo their number.
StatusOr<std::vector<DocumentPrompt>> LoadPrompts(const SynthesizeOptions& options) {
  if (!options.prompts.empty()) return PromptsFromFile(options.prompts);
  if (!options.text_template.empty()) {
    return PromptsFromLabels(options.text_template, options.labels);
  }
  if (options.documents.has_value()) return std::vector<DocumentPrompt>(1);
  return base::InvalidArgumentError(
      "say how many: --documents N, or a prompt for each: --prompts FILE, or --template with "
      "--labels");
}

// A deployment, or those of disjoint batches of users.
StatusOr<std::vector<std::string>> DeploymentsOf(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(auto deployments, ensemble::BatchesIn(directory));
  if (deployments.empty()) deployments.push_back(directory);
  return deployments;
}

StatusOr<DocumentFile::Run> RunOf(const SynthesizeOptions& options,
                                  const std::vector<std::string>& deployments,
                                  const std::vector<DocumentPrompt>& prompts) {
  std::string sources;
  for (const std::string& deployment : deployments) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    sources += (sources.empty() ? "" : " ") + config.lineage + " " +
               base::ToHex(engine::DeploymentFingerprint(config));
  }
  const engine::Request& request = options.request;
  Json texts = Json::array();
  for (const DocumentPrompt& prompt : prompts) texts.push_back({prompt.label, prompt.text});
  return DocumentFile::Run{{"deployment", sources},
                           {"prompts", base::ToHex(base::Sha256(texts.dump()))},
                           {"max_tokens", std::to_string(request.max_tokens)},
                           {"temperature", base::NumberText(request.sampling.temperature, 17)},
                           {"top_k", std::to_string(request.sampling.top_k)},
                           {"top_k_plus", std::to_string(request.sampling.top_k_plus)},
                           {"top_p", base::NumberText(request.sampling.top_p, 17)},
                           {"stop", Json(request.stop).dump()}};
}

// The text of a deployment, or of disjoint batches in turns, from what asks of it.
class Synthesis {
 public:
  Synthesis(const SynthesizeOptions& options, std::vector<std::string> deployments,
            std::vector<DocumentPrompt> prompts)
      : options_(options),
        prompts_(std::move(prompts)),
        documents_(options.documents.value_or(std::ssize(prompts_))) {
    for (std::string& directory : deployments) batches_.push_back({std::move(directory), {}, {}});
  }

  Status Run() {
    SUBMIX_RETURN_IF_ERROR(OpenFile());
    SUBMIX_RETURN_IF_ERROR(OpenEngine(batches_.front()));
    SUBMIX_RETURN_IF_ERROR(CheckPrompts());
    SUBMIX_RETURN_IF_ERROR(CheckBudgets());
    SUBMIX_RETURN_IF_ERROR(file_->Begin(accounting::PromiseJson<Json>(*promise_)));
    SUBMIX_RETURN_IF_ERROR(Write());
    PrintSummary();
    return base::OkStatus();
  }

 private:
  struct Batch {
    std::string deployment;
    std::vector<std::int64_t> documents;  // all of its numbers
    std::vector<std::int64_t> missing;    // those that are not written yet
  };

  const DocumentPrompt& PromptOf(std::int64_t number) const {
    return prompts_[static_cast<std::size_t>(number) % prompts_.size()];
  }

  // By the number alone, as many to each batch. Every round of batches begins with the next one, so
  // that labels that take turns, too, come to all of them.
  Batch& BatchOf(std::int64_t number) {
    const std::int64_t count = std::ssize(batches_);
    return batches_[static_cast<std::size_t>((number + number / count) % count)];
  }

  Status OpenFile() {
    std::vector<std::string> deployments;
    for (const Batch& batch : batches_) deployments.push_back(batch.deployment);
    SUBMIX_ASSIGN_OR_RETURN(const auto run, RunOf(options_, deployments, prompts_));
    SUBMIX_ASSIGN_OR_RETURN(file_, DocumentFile::Open(options_.out, run));
    for (std::int64_t number = 0; number < documents_; ++number) {
      Batch& batch = BatchOf(number);
      batch.documents.push_back(number);
      if (file_->written().contains(number)) continue;
      batch.missing.push_back(number);
      ++missing_;
    }
    return base::OkStatus();
  }

  Status OpenEngine(const Batch& batch) {
    if (open_ == &batch) return base::OkStatus();
    deployed_.reset();
    SUBMIX_ASSIGN_OR_RETURN(deployed_, OpenDeployedEngine(batch.deployment, options_.predictor));
    open_ = &batch;
    return base::OkStatus();
  }

  // A document begins as the texts did that the models were trained on.
  StatusOr<engine::Request> RequestOf(const DocumentPrompt& prompt) const {
    engine::Request request = options_.request;
    request.prompt = deployed_->tokenizer->document_start();
    SUBMIX_ASSIGN_OR_RETURN(const auto tokens, deployed_->tokenizer->Encode(prompt.text));
    request.prompt.insert(request.prompt.end(), tokens.begin(), tokens.end());
    return request;
  }

  Status CheckPrompts() const {
    const auto asked = std::min(documents_, std::ssize(prompts_));
    for (std::int64_t number = 0; number < asked; ++number) {
      const auto request = RequestOf(PromptOf(number));
      const Status status = request.ok() ? deployed_->core->Check(*request) : request.status();
      if (status.ok()) continue;
      return base::InvalidArgumentError(status.message() + " (prompt " +
                                        std::to_string(number + 1) + ")");
    }
    return base::OkStatus();
  }

  // Before the first token: a budget that ends on the way would leave part of what is wanted.
  Status CheckBudgets() {
    SUBMIX_RETURN_IF_ERROR(CheckDeployment(*open_, deployed_->deployment));
    for (const Batch& batch : batches_) {
      if (&batch == open_) continue;
      SUBMIX_ASSIGN_OR_RETURN(const auto deployment, ReadDeployment(batch.deployment));
      SUBMIX_RETURN_IF_ERROR(CheckDeployment(batch, deployment));
    }
    return base::OkStatus();
  }

  Status CheckDeployment(const Batch& batch, const engine::Deployment& deployment) {
    SUBMIX_RETURN_IF_ERROR(CheckPromise(batch, engine::DeploymentPromise(deployment)));
    SUBMIX_ASSIGN_OR_RETURN(const auto covered, engine::CoveredAnswers(deployment));
    if (!covered.has_value()) return base::OkStatus();
    covered_ = covered_.value_or(0) + *covered;
    return CheckBudget(batch, deployment.mechanism->has_constant_charge(), *covered);
  }

  // One promise stands beside all documents.
  Status CheckPromise(const Batch& batch, const accounting::Promise& promise) {
    if (!promise_.has_value()) promise_ = promise;
    if (promise.Lines() == promise_->Lines()) return base::OkStatus();
    return base::FailedPreconditionError(batch.deployment + ": promises something else than " +
                                         batches_.front().deployment +
                                         "; write the documents of each to a file of its own");
  }

  // `is_left`: `covered` is what is left, which is public; else what was declared, for all
  // documents of the run.
  Status CheckBudget(const Batch& batch, bool is_left, std::int64_t covered) const {
    const std::int64_t tokens = options_.request.max_tokens;
    const std::vector<std::int64_t>& wanted = is_left ? batch.missing : batch.documents;
    if (std::ssize(wanted) <= covered / tokens) return base::OkStatus();
    const std::int64_t most = wanted[static_cast<std::size_t>(covered / tokens)];
    return base::FailedPreconditionError(
        batch.deployment + ": its budget surely covers " + std::to_string(covered) +
        (is_left ? " more tokens, and " : " tokens, and ") + std::to_string(wanted.size()) +
        " documents of --max-tokens " + std::to_string(tokens) + " may need more: " +
        (most > 0 ? "--documents " + std::to_string(most) + " is the most" : "not one fits") +
        "; write fewer or shorter ones, or deploy with more --tokens");
  }

  Status Write() {
    const std::int64_t most = options_.request.max_tokens;
    // A document that ends early needs none of its other tokens: they count as done.
    base::ProgressBar progress("Writing", documents_ * most, "budgeted tokens");
    progress.SkipTo((documents_ - missing_) * most);
    engine::SynthesisSinks sinks;
    sinks.step = [&](std::int64_t tokens) {
      drawn_ += tokens;
      progress.Advance(tokens, ProgressNote());
    };
    sinks.document = [&](const engine::SynthesizedDocument& document) {
      progress.Advance(most - document.tokens);
      return file_->Append(document.number, FieldsOf(document));
    };
    for (const Batch& batch : batches_) {
      if (batch.missing.empty()) continue;
      SUBMIX_RETURN_IF_ERROR(OpenEngine(batch));
      SUBMIX_RETURN_IF_ERROR(engine::Synthesize(
          *deployed_->core, batch.missing, options_.predictor.sequences,
          [&](std::int64_t number) { return RequestOf(PromptOf(number)); }, sinks));
    }
    return base::OkStatus();
  }

  Json FieldsOf(const engine::SynthesizedDocument& document) const {
    const DocumentPrompt& prompt = PromptOf(document.number);
    Json fields = {{"prompt", prompt.text}};
    if (!prompt.label.empty()) fields["label"] = prompt.label;
    fields["text"] = document.text;
    fields["tokens"] = document.tokens;
    fields["finish_reason"] = FinishText(document.end);
    return fields;
  }

  std::string ProgressNote() const {
    return std::to_string(file_->written().size()) + " documents, " + std::to_string(drawn_) +
           " tokens " + (covered_ ? "of " + std::to_string(*covered_) + " in the budget" : "free");
  }

  void PrintSummary() const {
    if (options_.json) {
      const Json summary = {{"documents", file_->written().size()},
                            {"written_now", missing_},
                            {"tokens", file_->tokens()},
                            {"tokens_now", drawn_},
                            {"promise", accounting::PromiseJson<Json>(*promise_)},
                            {"statement", promise_->Lines()}};
      std::printf("%s\n", summary.dump().c_str());
      return;
    }
    std::printf("%s: %zu documents of %lld tokens, %lld of them written now\n\n%s",
                options_.out.c_str(), file_->written().size(),
                static_cast<long long>(file_->tokens()), static_cast<long long>(missing_),
                promise_->ToText().c_str());
    if (batches_.size() > 1) {
      std::printf("\nThis is one batch's promise, and all batches': one user's text is in one.\n");
    }
  }

  const SynthesizeOptions& options_;
  const std::vector<DocumentPrompt> prompts_;
  const std::int64_t documents_;
  std::vector<Batch> batches_;
  std::optional<DocumentFile> file_;
  std::int64_t missing_ = 0;
  std::unique_ptr<workbench::DeployedEngine> deployed_;
  const Batch* open_ = nullptr;  // whose engine that is
  std::optional<accounting::Promise> promise_;
  std::optional<std::int64_t> covered_;  // none: any number
  std::int64_t drawn_ = 0;               // tokens, now
};

Status RunSynthesize(const SynthesizeOptions& options) {
  SayGoesOnAtInterrupt();
  SUBMIX_ASSIGN_OR_RETURN(auto prompts, LoadPrompts(options));
  SUBMIX_ASSIGN_OR_RETURN(auto deployments, DeploymentsOf(options.deployment));
  return Synthesis(options, std::move(deployments), std::move(prompts)).Run();
}

}  // namespace

void AddSynthesizeCommand(CLI::App& command, Action& action) {
  SynthesizeOptions& options = SetAction<SynthesizeOptions>(command, action, RunSynthesize);
  Flags flags(command);
  flags.Require("deployment", options.deployment, kDirectory, "Directory made by `submix deploy`");
  flags.Require("out", options.out,
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
  AddRequestFlags(command, options.request);
  flags.Add("--at-a-time", options.predictor.sequences, Between(1, 4096), "Documents in a step");
  AddModelFlags(command, options.predictor);
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

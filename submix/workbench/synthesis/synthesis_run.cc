#include "submix/workbench/synthesis/synthesis_run.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/base/number_text.h"
#include "submix/base/progress_bar.h"
#include "submix/engine/deployment_statement.h"
#include "submix/engine/synthesis.h"
#include "submix/ensemble/batches.h"
#include "submix/workbench/synthesis/document_file.h"
#include "submix/workbench/synthesis/document_kind.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

// What the documents depend on.
StatusOr<DocumentFile::Run> RunOf(const SynthesisOrder& order) {
  std::string sources;
  for (const std::string& deployment : order.deployments) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    sources += (sources.empty() ? "" : " ") + config.lineage + " " +
               base::ToHex(engine::DeploymentFingerprint(config));
  }
  const engine::Request& request = order.request;
  Json texts = Json::array();
  for (const DocumentPrompt& prompt : order.prompts) texts.push_back({prompt.label, prompt.text});
  DocumentFile::Run run{{"deployment", sources},
                        {"prompts", base::ToHex(base::Sha256(texts.dump()))},
                        {"max_tokens", std::to_string(request.max_tokens)},
                        {"temperature", base::NumberText(request.sampling.temperature, 17)},
                        {"top_k", std::to_string(request.sampling.top_k)},
                        {"top_k_plus", std::to_string(request.sampling.top_k_plus)},
                        {"top_p", base::NumberText(request.sampling.top_p, 17)},
                        {"stop", Json(request.stop).dump()}};
  if (order.shape) {
    run["shape"] = base::ToHex(base::Sha256(shape::NameOf(*order.shape)));
  }
  if (order.messages > 0) run["messages"] = std::to_string(order.messages);
  if (!order.labels.empty()) run["labels"] = Json(order.labels).dump();
  return run;
}

class Synthesis {
 public:
  Synthesis(const SynthesisOrder& order, const SynthesisSources& sources)
      : order_(order), sources_(sources) {
    for (const std::string& directory : order.deployments) batches_.push_back({directory, {}, {}});
  }

  StatusOr<SynthesisResult> Run() {
    SUBMIX_RETURN_IF_ERROR(OpenFile());
    SUBMIX_RETURN_IF_ERROR(OpenEngine(batches_.front()));
    SUBMIX_RETURN_IF_ERROR(CheckPrompts());
    SUBMIX_RETURN_IF_ERROR(CheckBudgets());
    SUBMIX_RETURN_IF_ERROR(file_->Begin(accounting::PromiseJson<Json>(*promise_)));
    SUBMIX_RETURN_IF_ERROR(Write());
    return SynthesisResult{std::ssize(file_->written()), file_->tokens(), missing_, drawn_,
                           *promise_};
  }

 private:
  struct Batch {
    std::string deployment;
    std::vector<std::int64_t> documents;  // all of its numbers
    std::vector<std::int64_t> missing;    // those that are not written yet
  };

  const DocumentPrompt& PromptOf(std::int64_t number) const {
    return order_.prompts[static_cast<std::size_t>(number) % order_.prompts.size()];
  }

  // By the number alone, as many to each batch. Every round of batches begins with the next one, so
  // that labels that take turns, too, come to all of them.
  Batch& BatchOf(std::int64_t number) {
    const std::int64_t count = std::ssize(batches_);
    return batches_[static_cast<std::size_t>((number + number / count) % count)];
  }

  Status OpenFile() {
    SUBMIX_ASSIGN_OR_RETURN(const auto run, RunOf(order_));
    SUBMIX_ASSIGN_OR_RETURN(file_, DocumentFile::Open(order_.out, run));
    for (std::int64_t number = 0; number < order_.documents; ++number) {
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
    kind_.reset();
    deployed_.reset();
    SUBMIX_ASSIGN_OR_RETURN(deployed_, sources_.ask(batch.deployment));
    SUBMIX_ASSIGN_OR_RETURN(kind_, DocumentKind::Of(order_, *deployed_));
    open_ = &batch;
    return base::OkStatus();
  }

  Status CheckPrompts() const {
    const auto asked = std::min(order_.documents, std::ssize(order_.prompts));
    for (std::int64_t number = 0; number < asked; ++number) {
      const auto request = kind_->First(PromptOf(number));
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
      SUBMIX_ASSIGN_OR_RETURN(const auto deployment, sources_.look(batch.deployment));
      SUBMIX_RETURN_IF_ERROR(CheckDeployment(batch, deployment));
    }
    return base::OkStatus();
  }

  Status CheckDeployment(const Batch& batch, const engine::Deployment& deployment) {
    SUBMIX_RETURN_IF_ERROR(CheckPromise(batch, engine::DeploymentPromise(deployment)));
    SUBMIX_ASSIGN_OR_RETURN(const auto covered, engine::CoveredTokens(deployment));
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
    const std::int64_t tokens = MostTokens(order_);
    const std::vector<std::int64_t>& wanted = is_left ? batch.missing : batch.documents;
    if (std::ssize(wanted) <= covered / tokens) return base::OkStatus();
    if (!order_.labels.empty()) {
      return base::FailedPreconditionError(
          batch.deployment + ": its budget surely covers " + std::to_string(covered) +
          (is_left ? " more answers" : " answers") + ", and there are " +
          std::to_string(wanted.size()) +
          " items: label fewer of them, or deploy with more --tokens");
    }
    const std::int64_t most = wanted[static_cast<std::size_t>(covered / tokens)];
    return base::FailedPreconditionError(
        batch.deployment + ": its budget surely covers " + std::to_string(covered) +
        (is_left ? " more tokens, and " : " tokens, and ") + std::to_string(wanted.size()) +
        " documents of " + std::to_string(tokens) + " tokens may need more: " +
        (most > 0 ? "--documents " + std::to_string(most) + " is the most" : "not one fits") +
        "; write fewer or shorter ones, or deploy with more --tokens");
  }

  Status Write() {
    const std::int64_t most = MostTokens(order_);
    const bool labels = !order_.labels.empty();
    // A document that ends early needs none of its other tokens: they count as done.
    base::ProgressBar progress(labels ? "Labelling" : "Writing", order_.documents * most,
                               labels ? "items" : "budgeted tokens");
    progress.SkipTo((order_.documents - missing_) * most);
    engine::SynthesisSinks sinks;
    sinks.step = [&](std::int64_t tokens) {
      drawn_ += tokens;
      progress.Advance(tokens, ProgressNote());
    };
    sinks.ended =
        [&](const engine::SynthesizedDocument& text) -> StatusOr<std::optional<engine::Request>> {
      Json fields;
      SUBMIX_ASSIGN_OR_RETURN(auto next, kind_->Next(PromptOf(text.number), text, fields));
      if (next) return next;
      progress.Advance(most - fields["tokens"].get<std::int64_t>());
      SUBMIX_RETURN_IF_ERROR(file_->Append(text.number, fields));
      return next;
    };
    for (const Batch& batch : batches_) {
      if (batch.missing.empty()) continue;
      SUBMIX_RETURN_IF_ERROR(OpenEngine(batch));
      SUBMIX_RETURN_IF_ERROR(engine::Synthesize(
          *deployed_->core, batch.missing, order_.at_a_time,
          [&](std::int64_t number) { return kind_->First(PromptOf(number)); }, sinks));
    }
    return base::OkStatus();
  }

  std::string ProgressNote() const {
    return std::to_string(file_->written().size()) + " documents, " + std::to_string(drawn_) +
           " tokens " + (covered_ ? "of " + std::to_string(*covered_) + " in the budget" : "free");
  }

  const SynthesisOrder& order_;
  const SynthesisSources& sources_;
  std::vector<Batch> batches_;
  std::optional<DocumentFile> file_;
  std::int64_t missing_ = 0;
  std::unique_ptr<DeployedEngine> deployed_;
  std::unique_ptr<DocumentKind> kind_;  // from that engine
  const Batch* open_ = nullptr;         // whose engine that is
  std::optional<accounting::Promise> promise_;
  std::optional<std::int64_t> covered_;  // none: any number
  std::int64_t drawn_ = 0;               // tokens, now
};

}  // namespace

Status SetPrompts(const std::string& file, const std::string& text_template,
                  const std::vector<std::string>& labels, std::optional<std::int64_t> documents,
                  SynthesisOrder& order) {
  if (!file.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(order.prompts, PromptsFromFile(file));
  } else if (!text_template.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(order.prompts, PromptsFromLabels(text_template, labels));
  } else if (documents.has_value()) {
    order.prompts.resize(1);
  } else {
    return base::InvalidArgumentError(
        "say how many: --documents N, or a prompt for each: --prompts FILE, or --template with "
        "--labels");
  }
  order.documents = documents.value_or(std::ssize(order.prompts));
  return base::OkStatus();
}

StatusOr<std::vector<std::string>> DeploymentsIn(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(auto deployments, ensemble::BatchesIn(directory));
  if (deployments.empty()) deployments.push_back(directory);
  return deployments;
}

StatusOr<SynthesisResult> RunSynthesis(const SynthesisOrder& order,
                                       const SynthesisSources& sources) {
  return Synthesis(order, sources).Run();
}

}  // namespace submix::workbench

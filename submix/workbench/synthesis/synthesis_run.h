// Documents from a deployment, or in turns from those of disjoint batches of users, into a file:
// what is still missing of it, if the budgets surely cover that and all promise the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/workbench/models/deployed_engine.h"
#include "submix/workbench/synthesis/synthesis_order.h"

namespace submix::workbench {

// How deployments are opened: to be looked at, and to be asked.
struct SynthesisSources {
  std::function<base::StatusOr<engine::Deployment>(const std::string& deployment)> look;
  std::function<base::StatusOr<std::unique_ptr<DeployedEngine>>(const std::string& deployment)> ask;
};

struct SynthesisResult {
  std::int64_t documents = 0;        // in the file
  std::int64_t tokens = 0;           // of these
  std::int64_t written_now = 0;      // documents
  std::int64_t drawn_now = 0;        // tokens
  accounting::Promise promise = {};  // of every batch, and so of all: one user's text is in one
};

// `prompts` and `documents` as they follow from what is asked: a file of prompts, a template with
// labels, or no prompt and a number of documents. Errors: those of document_prompts.h;
// kInvalidArgument where nothing says how many.
base::Status SetPrompts(const std::string& file, const std::string& text_template,
                        const std::vector<std::string>& labels,
                        std::optional<std::int64_t> documents, SynthesisOrder& order);

// The deployments of a directory: itself, or those of batches. Errors: ensemble::BatchesIn's.
base::StatusOr<std::vector<std::string>> DeploymentsIn(const std::string& directory);

// Writes the documents that the file lacks, with a progress bar. Before the first token: kInvalid-
// Argument for a prompt that cannot be asked; kFailedPrecondition for the documents of another run,
// a batch that promises something else than the first, and a budget that may end on the way, naming
// how many documents it covers. Later: those of engine::Synthesize and of writing; the same order
// then goes on.
base::StatusOr<SynthesisResult> RunSynthesis(const SynthesisOrder& order,
                                             const SynthesisSources& sources);

}  // namespace submix::workbench

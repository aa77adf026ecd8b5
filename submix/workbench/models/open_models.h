// The models of ensembles, ready to answer.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/ensemble/opened_ensemble.h"
#include "submix/ensemble/predictor.h"
#include "submix/tokenizer/tokenizer.h"
#include "submix/workbench/models/model_options.h"

namespace submix::workbench {

// Errors: LoadFittingTokenizer's; kFailedPrecondition for external models without a tokenizer.
base::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadTokenizer(
    const ensemble::OpenedEnsemble& ensemble);

// A public model and members, each a directory, of which the tokens below `vocab_size` can come
// next: the tokenizer's. 0: all of the model's. Errors: those of the predictor; kUnimplemented for
// "torch" where there is none; kInvalidArgument for an external predictor, and for a key-value
// cache that the predictor has not.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadPredictor(
    const ModelOptions& options, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size);

// The public model and all members of an ensemble, then the members of `extra` ensembles, as one
// predictor of the tokenizer's tokens. Errors: also kFailedPrecondition for a member that is not
// trained yet, and for models that are not there.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadEnsemble(
    const ModelOptions& options, const tokenizer::Tokenizer& tokenizer,
    const ensemble::OpenedEnsemble& ensemble, std::span<const ensemble::OpenedEnsemble> extra = {});

// Over what the logits of these ensembles depend on, checked against the files. Errors:
// VerifyFiles's.
base::StatusOr<base::Sha256Digest> ModelsDigest(
    const ModelOptions& options, std::span<const ensemble::OpenedEnsemble> ensembles);

}  // namespace submix::workbench

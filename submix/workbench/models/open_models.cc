#include "submix/workbench/models/open_models.h"

#include <algorithm>
#include <utility>

#include "submix/base/cache_directory.h"
#include "submix/base/processors.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/contexts/context_predictor.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/decode/packed_weights.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/external/external_predictor.h"
#include "submix/workbench/models/memory_need.h"
#include "submix/workbench/models/torch_models.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using ensemble::OpenedEnsemble;
using ensemble::Predictor;

Status CheckKeepsKeys(const ModelOptions& options) {
  if (options.predictor == "cpu" || options.kv_cache == "auto") return base::OkStatus();
  return base::InvalidArgumentError("--kv-cache " + options.kv_cache +
                                    ": only --predictor cpu has such a cache, not " +
                                    options.predictor);
}

// Where the numbers come from, and which these must be.
StatusOr<std::unique_ptr<Predictor>> ConnectEnsemble(const ModelOptions& options,
                                                     const tokenizer::Tokenizer& tokenizer,
                                                     const OpenedEnsemble& ensemble) {
  SUBMIX_RETURN_IF_ERROR(CheckKeepsKeys(options));
  const ensemble::Manifest& manifest = ensemble.manifest();
  external::ExternalPredictorOptions asked;
  asked.socket = options.predictor.substr(kExternalPrefix.size());
  asked.num_members = manifest.num_members();
  asked.patience = options.patience;
  asked.threads = options.threads > 0 ? options.threads : base::AvailableProcessors();
  for (const char* name : {"public/vocab.json", "public/tokenizer.json"}) {
    const auto file = manifest.file_sha256.find(name);
    if (file != manifest.file_sha256.end()) asked.tokenizer = file->second;
  }
  asked.digest = ensemble.digest();
  SUBMIX_ASSIGN_OR_RETURN(asked.vocabulary, ensemble.Vocabulary());
  if (!manifest.external) asked.vocabulary = std::min(asked.vocabulary, tokenizer.vocab_size());
  return external::ConnectPredictor(asked);
}

// `models` says which; `sequences`: of the predictor at a time.
StatusOr<std::unique_ptr<decode::CpuPredictor>> LoadCpuPredictor(const ModelOptions& options,
                                                                 decode::CpuPredictorOptions models,
                                                                 int sequences) {
  SUBMIX_ASSIGN_OR_RETURN(models.precision, decode::ParsePrecision(options.precision));
  models.has_byte_cache = options.kv_cache == "int8";
  models.threads = options.threads;
  models.cache_directory = base::DefaultCacheDirectory();
  SUBMIX_RETURN_IF_ERROR(CheckMemory(models, sequences));
  return decode::CpuPredictor::Load(models);
}

StatusOr<std::unique_ptr<Predictor>> LoadContextEnsemble(const ModelOptions& options,
                                                         const tokenizer::Tokenizer& tokenizer,
                                                         const OpenedEnsemble& ensemble) {
  if (options.predictor != "cpu") {
    return base::UnimplementedError(
        ensemble.directory() + ": its members read contexts, which only --predictor cpu computes");
  }
  const ensemble::Manifest& manifest = ensemble.manifest();
  SUBMIX_ASSIGN_OR_RETURN(auto contexts,
                          contexts::LoadContexts(manifest, ensemble.directory(), tokenizer));
  decode::CpuPredictorOptions models;
  models.public_directory = ensemble.public_directory();
  models.vocab_size = tokenizer.vocab_size();
  models.has_separate_rows = true;
  std::vector<bool> is_trained;
  if (manifest.contexts->has_adapters) {
    SUBMIX_ASSIGN_OR_RETURN(models.member_directories, ensemble.MemberDirectories());
    for (const ensemble::MemberEntry& member : manifest.members) {
      is_trained.push_back(!member.is_public_model());
    }
  }
  // A member is a sequence of its own.
  const int sequences = options.sequences * (manifest.num_members() + 1);
  SUBMIX_ASSIGN_OR_RETURN(auto model, LoadCpuPredictor(options, models, sequences));
  return contexts::MakeContextPredictor(std::move(model), std::move(contexts),
                                        std::move(is_trained));
}

}  // namespace

StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadTokenizer(const OpenedEnsemble& ensemble) {
  const ensemble::Manifest& manifest = ensemble.manifest();
  if (!manifest.external) return ensemble::LoadFittingTokenizer(ensemble.public_directory());
  if (!manifest.file_sha256.empty()) {
    return tokenizer::Tokenizer::LoadFor(ensemble.public_directory(),
                                         manifest.external->vocabulary);
  }
  return base::FailedPreconditionError(
      ensemble.directory() +
      ": has no tokenizer, and so reads no text: `submix deploy --external` was not given "
      "--tokenizer");
}

StatusOr<std::unique_ptr<Predictor>> LoadPredictor(
    const ModelOptions& options, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size) {
  SUBMIX_RETURN_IF_ERROR(CheckKeepsKeys(options));
  if (IsExternal(options.predictor)) {
    return base::InvalidArgumentError(options.predictor +
                                      ": computes a whole ensemble, not these models");
  }
  if (options.predictor == "torch") {
    return LoadTorchPredictor(options, public_directory, member_directories, vocab_size);
  }
  decode::CpuPredictorOptions models;
  models.public_directory = public_directory;
  models.member_directories = member_directories;
  models.vocab_size = vocab_size;
  SUBMIX_ASSIGN_OR_RETURN(auto predictor, LoadCpuPredictor(options, models, options.sequences));
  return std::unique_ptr<Predictor>(std::move(predictor));
}

StatusOr<std::unique_ptr<Predictor>> LoadEnsemble(const ModelOptions& options,
                                                  const tokenizer::Tokenizer& tokenizer,
                                                  const OpenedEnsemble& ensemble,
                                                  std::span<const OpenedEnsemble> extra) {
  if (IsExternal(options.predictor) && extra.empty()) {
    return ConnectEnsemble(options, tokenizer, ensemble);
  }
  if (ensemble.manifest().contexts && extra.empty()) {
    return LoadContextEnsemble(options, tokenizer, ensemble);
  }
  std::vector<std::string> members;
  const auto add_members = [&](const OpenedEnsemble& of) -> Status {
    SUBMIX_RETURN_IF_ERROR(of.CheckHasModels());
    SUBMIX_ASSIGN_OR_RETURN(const auto directories, of.MemberDirectories());
    members.insert(members.end(), directories.begin(), directories.end());
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(add_members(ensemble));
  for (const OpenedEnsemble& other : extra) SUBMIX_RETURN_IF_ERROR(add_members(other));
  return LoadPredictor(options, ensemble.public_directory(), members, tokenizer.vocab_size());
}

StatusOr<base::Sha256Digest> ModelsDigest(const ModelOptions& options,
                                          std::span<const OpenedEnsemble> ensembles) {
  std::string text = options.Description() + "\n";
  for (const OpenedEnsemble& ensemble : ensembles) {
    SUBMIX_RETURN_IF_ERROR(ensemble.VerifyFiles());
    text += base::ToHex(ensemble.fingerprint()) + "\n";
  }
  return base::Sha256(text);
}

}  // namespace submix::workbench

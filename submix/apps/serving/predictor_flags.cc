#include "submix/apps/serving/predictor_flags.h"

#include <algorithm>
#include <utility>

#include "submix/base/log.h"
#include "submix/base/memory_limit.h"
#include "submix/base/processors.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/contexts/context_predictor.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/decode/packed_weights.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/external_ensemble.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/external/external_predictor.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/model/decoder_config.h"
#include "submix/model/end_tokens.h"

namespace submix::apps {
namespace {

using base::StatusOr;

PredictorLoader& TorchLoader() {
  static PredictorLoader loader;
  return loader;
}

base::Status CheckKeepsKeys(const PredictorFlags& flags) {
  if (flags.predictor == "cpu" || flags.kv_cache == "auto") return base::OkStatus();
  return base::InvalidArgumentError("--kv-cache " + flags.kv_cache +
                                    ": only --predictor cpu has such a cache, not " +
                                    flags.predictor);
}

// Where the numbers come from, and which these must be.
StatusOr<std::unique_ptr<ensemble::Predictor>> ConnectEnsemble(
    const PredictorFlags& flags, const tokenizer::Tokenizer& tokenizer,
    const std::string& ensemble_directory) {
  SUBMIX_RETURN_IF_ERROR(CheckKeepsKeys(flags));
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(ensemble_directory));
  external::ExternalPredictorOptions options;
  options.socket = flags.predictor.substr(kExternalPrefix.size());
  options.num_members = manifest.num_members();
  options.patience = flags.patience;
  options.threads = flags.threads > 0 ? flags.threads : base::AvailableProcessors();
  for (const char* name : {"public/vocab.json", "public/tokenizer.json"}) {
    const auto file = manifest.file_sha256.find(name);
    if (file != manifest.file_sha256.end()) options.tokenizer = file->second;
  }
  options.digest = ensemble::EnsembleDigest(manifest);
  if (manifest.external.has_value()) {
    options.vocabulary = manifest.external->vocabulary;
  } else {
    SUBMIX_ASSIGN_OR_RETURN(const auto config,
                            model::LoadConfigOf(ensemble::PublicDirectory(ensemble_directory)));
    options.vocabulary = std::min(config.vocab_size, tokenizer.vocab_size());
  }
  return external::ConnectPredictor(options);
}

std::string MebibyteText(std::size_t bytes) {
  return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MiB";
}

// Before models are loaded: says in one line how much memory they need to answer so many sequences
// at a time, if that is much. Contexts come on top: how long they get is known when clients have
// asked. Errors: those of CpuPredictor::Plan; kResourceExhausted if it is more than there is.
base::Status CheckMemory(const decode::CpuPredictorOptions& options, int sequences) {
  constexpr std::size_t kMuch = std::size_t{256} << 20;
  SUBMIX_ASSIGN_OR_RETURN(const auto memory, decode::CpuPredictor::Plan(options));
  const auto count = static_cast<std::size_t>(sequences);
  // Logits in float, and the pmfs in double that a mechanism makes of them.
  const std::size_t predictions = count * memory.logits_per_sequence * 3;
  const std::size_t contexts = count * memory.cache_per_16_tokens;
  const std::size_t bytes = memory.weights + memory.adapters + predictions + contexts;
  const std::string text =
      options.public_directory + ": needs " + MebibyteText(bytes) + " of memory (weights " +
      MebibyteText(memory.weights) + ", adapters " + MebibyteText(memory.adapters) +
      ", predictions for " + std::to_string(sequences) + " at a time " + MebibyteText(predictions) +
      ") and for each further 16 tokens of all contexts " + MebibyteText(contexts);
  if (const std::size_t limit = base::MemoryLimit(); bytes > limit) {
    return base::ResourceExhaustedError(
        text + "; this machine, or this process's control group, has " + MebibyteText(limit) +
        ": take a smaller --precision, --kv-cache int8, fewer members or fewer sequences at a "
        "time");
  }
  if (bytes >= kMuch) base::Log(base::LogSeverity::kInfo, text);
  return base::OkStatus();
}

// `options` says which models; `sequences`: of the predictor at a time.
StatusOr<std::unique_ptr<decode::CpuPredictor>> LoadCpuPredictor(
    const PredictorFlags& flags, decode::CpuPredictorOptions options, int sequences) {
  SUBMIX_ASSIGN_OR_RETURN(options.precision, decode::ParsePrecision(flags.precision));
  options.has_byte_cache = flags.kv_cache == "int8";
  options.threads = flags.threads;
  options.cache_directory = decode::DefaultCacheDirectory();
  SUBMIX_RETURN_IF_ERROR(CheckMemory(options, sequences));
  return decode::CpuPredictor::Load(options);
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadContextEnsemble(
    const PredictorFlags& flags, const tokenizer::Tokenizer& tokenizer,
    const std::string& ensemble_directory, const ensemble::Manifest& manifest) {
  if (flags.predictor != "cpu") {
    return base::UnimplementedError(
        ensemble_directory + ": its members read contexts, which only --predictor cpu computes");
  }
  SUBMIX_ASSIGN_OR_RETURN(auto contexts,
                          contexts::LoadContexts(manifest, ensemble_directory, tokenizer));
  decode::CpuPredictorOptions options;
  options.public_directory = ensemble::PublicDirectory(ensemble_directory);
  options.vocab_size = tokenizer.vocab_size();
  options.has_separate_rows = true;
  std::vector<bool> is_trained;
  if (manifest.contexts->has_adapters) {
    for (const ensemble::MemberEntry& member : manifest.members) {
      options.member_directories.push_back(ensemble::MemberPath(ensemble_directory, member));
      is_trained.push_back(!member.is_public_model());
    }
  }
  // A member is a sequence of its own.
  const int sequences = flags.sequences * (manifest.num_members() + 1);
  SUBMIX_ASSIGN_OR_RETURN(auto model, LoadCpuPredictor(flags, options, sequences));
  return contexts::MakeContextPredictor(std::move(model), std::move(contexts),
                                        std::move(is_trained));
}

// What ends an answer beside the tokenizer's end of text.
StatusOr<std::vector<int>> EndTokensOf(const ensemble::Manifest& manifest,
                                       const std::string& ensemble_directory) {
  const std::string directory = ensemble::PublicDirectory(ensemble_directory);
  if (!manifest.external.has_value()) return model::LoadEndTokens(directory);
  return model::LoadGenerationEnds(directory, manifest.external->vocabulary);
}

}  // namespace

const CLI::Validator kPredictor(
    [](const std::string& text) {
      return IsPredictor(text) ? "" : std::string("expected ") + kPredictorNames;
    },
    "");

void AddPredictorFlags(Flags flags, PredictorFlags& predictor) {
  flags.Add("--predictor", predictor.predictor, kPredictor,
            "What runs the models: cpu; torch: libtorch's (the oracle, and a GPU's way), in "
            "submix-train; external:SOCKET: the process that listens there");
  flags.Add("--precision", predictor.precision, OneOf({"f32", "bf16", "int8", "int4"}),
            "Of the weights: f32; bf16 (half the memory); int8 (a quarter, less exact); int4 (a "
            "seventh, least exact)");
  flags.Add("--kv-cache", predictor.kv_cache, OneOf({"auto", "int8"}),
            "Keys and values of contexts: int8 takes half the memory of bf16 (--predictor cpu)");
  flags.Add("--threads", predictor.threads, Between(0, 1024), "0: all processors");
}

void SetTorchPredictorLoader(PredictorLoader loader) { TorchLoader() = std::move(loader); }

StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadEnsembleTokenizer(
    const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(ensemble_directory));
  const std::string directory = ensemble::PublicDirectory(ensemble_directory);
  if (!manifest.external.has_value()) return ensemble::LoadFittingTokenizer(directory);
  if (!manifest.file_sha256.empty()) {
    return tokenizer::Tokenizer::LoadFor(directory, manifest.external->vocabulary);
  }
  return base::FailedPreconditionError(
      ensemble_directory +
      ": has no tokenizer, and so reads no text: `submix deploy --external` was not given "
      "--tokenizer");
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadPredictor(
    const PredictorFlags& flags, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size) {
  SUBMIX_RETURN_IF_ERROR(CheckKeepsKeys(flags));
  if (IsExternal(flags.predictor)) {
    return base::InvalidArgumentError(flags.predictor +
                                      ": computes a whole ensemble, not these models");
  }
  if (flags.predictor == "torch") {
    if (TorchLoader()) {
      return TorchLoader()(flags, public_directory, member_directories, vocab_size);
    }
    return base::UnimplementedError(
        "this program has no libtorch; run the same command with submix-train instead of submix");
  }
  decode::CpuPredictorOptions options;
  options.public_directory = public_directory;
  options.member_directories = member_directories;
  options.vocab_size = vocab_size;
  SUBMIX_ASSIGN_OR_RETURN(auto predictor, LoadCpuPredictor(flags, options, flags.sequences));
  return std::unique_ptr<ensemble::Predictor>(std::move(predictor));
}

StatusOr<std::unique_ptr<ensemble::Predictor>> LoadEnsembles(
    const PredictorFlags& flags, const tokenizer::Tokenizer& tokenizer,
    const std::string& ensemble_directory, const std::vector<std::string>& extra) {
  if (IsExternal(flags.predictor) && extra.empty()) {
    return ConnectEnsemble(flags, tokenizer, ensemble_directory);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto own, ensemble::LoadManifest(ensemble_directory));
  if (own.contexts.has_value() && extra.empty()) {
    return LoadContextEnsemble(flags, tokenizer, ensemble_directory, own);
  }
  std::vector<std::string> ensembles = {ensemble_directory};
  ensembles.insert(ensembles.end(), extra.begin(), extra.end());
  std::vector<std::string> members;
  for (const std::string& directory : ensembles) {
    SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(directory));
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckHasModels(manifest, directory));
    for (const ensemble::MemberEntry& member : manifest.members) {
      if (!member.complete) {
        return base::FailedPreconditionError(
            directory + ": " + member.directory +
            " is not trained yet; run the same `submix train` again to finish");
      }
      members.push_back(ensemble::MemberPath(directory, member));
    }
  }
  return LoadPredictor(flags, ensemble::PublicDirectory(ensemble_directory), members,
                       tokenizer.vocab_size());
}

StatusOr<base::Sha256Digest> ModelsDigest(const PredictorFlags& flags,
                                          const std::vector<std::string>& ensembles) {
  std::string text = flags.Description() + "\n";
  for (const std::string& directory : ensembles) {
    SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(directory));
    SUBMIX_RETURN_IF_ERROR(ensemble::VerifyFiles(manifest, directory));
    text += base::ToHex(ensemble::EnsembleFingerprint(manifest)) + "\n";
  }
  return base::Sha256(text);
}

StatusOr<engine::Deployment> ReadDeployment(const std::string& deployment_directory) {
  return engine::OpenDeployment(deployment_directory, engine::DeploymentAccess::kReadOnly,
                                mechanism::MakeAnyMechanism);
}

StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const PredictorFlags& flags,
    int prefix_tokens_per_key) {
  auto deployed = std::make_unique<DeployedEngine>();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->deployment,
      engine::OpenDeployment(deployment_directory, engine::DeploymentAccess::kCharge,
                             mechanism::MakeAnyMechanism));
  const std::string& ensemble_directory = deployed->deployment.config.ensemble_directory;
  SUBMIX_ASSIGN_OR_RETURN(deployed->tokenizer, LoadEnsembleTokenizer(ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(const auto end_tokens,
                          EndTokensOf(deployed->deployment.manifest, ensemble_directory));
  SUBMIX_ASSIGN_OR_RETURN(deployed->predictor,
                          LoadEnsembles(flags, *deployed->tokenizer, ensemble_directory, {}));
  deployed->random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(
      deployed->core,
      engine::EngineCore::Create(
          {deployed->predictor.get(), deployed->deployment.mechanism.get(),
           deployed->deployment.ledger.get(), deployed->tokenizer.get(), deployed->random.get(),
           deployed->deployment.config.options.when_exhausted, end_tokens, prefix_tokens_per_key}));
  return deployed;
}

}  // namespace submix::apps

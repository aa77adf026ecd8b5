// Which predictor runs the models: flags that `generate`, `evaluate` and the server share. And the
// loading of models.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/base/digest.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/engine/engine_core.h"
#include "submix/ensemble/predictor.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::apps {

struct PredictorFlags {
  std::string predictor = "cpu";  // or "torch", or "external:SOCKET"
  std::string precision = "bf16";
  int threads = 0;
  std::string kv_cache = "auto";  // or "int8"
  int sequences = 1;              // at a time, for the memory that they need; no flag
  // With what an external predictor may take for a step; no flag.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);

  // What decides the numbers, for keys of checkpoints: "cpu bf16".
  std::string Description() const {
    return predictor + " " + precision + (kv_cache == "auto" ? "" : " kv " + kv_cache);
  }
};

void AddPredictorFlags(Flags flags, PredictorFlags& predictor);

// What --predictor, and the server's file, may say.
inline constexpr char kPredictorNames[] = "cpu, torch or external:SOCKET";
inline constexpr std::string_view kExternalPrefix = "external:";
inline bool IsExternal(std::string_view predictor) {
  return predictor.starts_with(kExternalPrefix) && predictor.size() > kExternalPrefix.size();
}
inline bool IsPredictor(std::string_view name) {
  return name == "cpu" || name == "torch" || IsExternal(name);
}
extern const CLI::Validator kPredictor;

using PredictorLoader = std::function<base::StatusOr<std::unique_ptr<ensemble::Predictor>>(
    const PredictorFlags& flags, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size)>;

// `submix-train` brings the predictor by libtorch; `submix` has none and says where it is. Before
// any command runs.
void SetTorchPredictorLoader(PredictorLoader loader);

// Errors: LoadFittingTokenizer's; kFailedPrecondition for external models without a tokenizer.
base::StatusOr<std::unique_ptr<tokenizer::Tokenizer>> LoadEnsembleTokenizer(
    const std::string& ensemble_directory);

// A public model and members, each a directory, of which the tokens below `vocab_size` can come
// next: the tokenizer's. 0: all of the model's. Errors: those of the predictor; kUnimplemented for
// "torch" where there is none.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadPredictor(
    const PredictorFlags& flags, const std::string& public_directory,
    const std::vector<std::string>& member_directories, int vocab_size);

// The public model and all members of an ensemble, then the members of `extra` ensembles, as one
// predictor of the tokenizer's tokens. Errors: also kFailedPrecondition for a member that is not
// trained yet, for models that are not there, and for `extra` of an external predictor.
base::StatusOr<std::unique_ptr<ensemble::Predictor>> LoadEnsembles(
    const PredictorFlags& flags, const tokenizer::Tokenizer& tokenizer,
    const std::string& ensemble_directory, const std::vector<std::string>& extra);

// Over what the logits of these ensembles depend on, checked against the files. Errors: kDataLoss
// for a file that is not the one of the manifest.
base::StatusOr<base::Sha256Digest> ModelsDigest(const PredictorFlags& flags,
                                                const std::vector<std::string>& ensembles);

// --- Deployments

// To look at, beside what charges it, whatever its mechanism. Errors: those of OpenDeployment.
base::StatusOr<engine::Deployment> ReadDeployment(const std::string& deployment_directory);

// What `generate`, `synthesize`, `serve` and `demo` ask. Owns everything the engine stands on.
struct DeployedEngine {
  engine::Deployment deployment;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  std::unique_ptr<ensemble::Predictor> predictor;
  std::unique_ptr<base::RandomSource> random;
  std::unique_ptr<engine::EngineCore> core;
};

// Opens a deployment for charging and loads its models. Errors: those of OpenDeployment and of the
// models' files.
base::StatusOr<std::unique_ptr<DeployedEngine>> OpenDeployedEngine(
    const std::string& deployment_directory, const PredictorFlags& flags,
    int prefix_tokens_per_key = 0);

}  // namespace submix::apps

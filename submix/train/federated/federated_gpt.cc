#include "submix/train/federated/federated_gpt.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/train/fine_tuning/ensemble_preparation.h"
#include "submix/train/fine_tuning/released_model.h"
#include "submix/train/models/member_models.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/private_training/client_threads.h"

namespace submix::train {

using base::Status;
using base::StatusOr;
using base::TokenId;

namespace {

// A user's tokens as blocks of up to `positions` predictions.
class TokenBlocks {
 public:
  TokenBlocks(std::span<const TokenId> tokens, TokenId end_of_text, std::size_t positions)
      : tokens_(tokens), end_of_text_(end_of_text), positions_(positions) {}

  bool is_empty() const { return next_ == tokens_.size(); }
  // What is read, and behind it the last token that is predicted.
  std::vector<TokenId> Next() {
    const std::size_t count = std::min(positions_, tokens_.size() - next_);
    std::vector<TokenId> block = {next_ == 0 ? end_of_text_ : tokens_[next_ - 1]};
    const auto predicted = tokens_.subspan(next_, count);
    block.insert(block.end(), predicted.begin(), predicted.end());
    next_ += count;
    return block;
  }

 private:
  std::span<const TokenId> tokens_;
  TokenId end_of_text_;
  std::size_t positions_;
  std::size_t next_ = 0;
};

class GptClient final : public ClientModel {
 public:
  GptClient(std::unique_ptr<MemberModels> models, TokenId end_of_text, int rows, int positions)
      : models_(std::move(models)),
        end_of_text_(end_of_text),
        rows_(static_cast<std::size_t>(rows)),
        positions_(static_cast<std::size_t>(positions)) {}

  void SetParameters(std::span<const float> parameters) override {
    std::ranges::copy(parameters, models_->parameters().values(0).begin());
  }

  void Begin(std::span<const TokenId> tokens) override {
    blocks_.emplace(tokens, end_of_text_, positions_);
  }

  std::int64_t NextBatch() override {
    std::vector<std::vector<TokenId>> rows;
    while (rows.size() < rows_ && !blocks_->is_empty()) rows.push_back(blocks_->Next());
    if (rows.empty()) return 0;
    // No wider than the first: shapes are the user's own matter.
    batch_.emplace(std::ssize(rows), std::ssize(rows.front()) - 1);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      batch_->SetRow(static_cast<std::int64_t>(row), rows[row]);
    }
    targets_ = batch_->WeighEqually(0, std::ssize(rows));
    return targets_;
  }

  void Gradient(float weight, std::span<float> gradient) override {
    const at::Tensor mean = models_->Loss(*batch_).total;
    models_->parameters().Differentiate(mean * (weight * static_cast<float>(targets_)));
    std::ranges::copy(models_->parameters().gradients(0), gradient.begin());
  }

 private:
  const std::unique_ptr<MemberModels> models_;
  const TokenId end_of_text_;
  const std::size_t rows_;
  const std::size_t positions_;
  std::optional<TokenBlocks> blocks_;
  std::optional<TokenBatch> batch_;
  std::int64_t targets_ = 0;
};

PredictionCount CountPredictions(MemberModels& models, TokenBlocks blocks) {
  PredictionCount count;
  while (!blocks.is_empty()) {
    std::vector<TokenId> block = blocks.Next();
    const auto positions = std::ssize(block) - 1;
    TokenBatch batch(1, positions);
    batch.SetRow(0, block);
    at::Tensor logits = models.Logits(batch.tokens()).contiguous();
    const auto vocab_size = static_cast<std::size_t>(logits.size(1));
    for (std::int64_t i = 0; i < positions; ++i) {
      float* row = logits.data_ptr<float>() + i * logits.size(1);
      count.Add(block[static_cast<std::size_t>(i) + 1], {row, vocab_size});
    }
  }
  return count;
}

StatusOr<std::string> Describe(const FederatedGptOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(
      const base::Sha256Digest digest,
      base::Sha256OfFile(base::JoinPath(options.public_directory, "model.safetensors")));
  const char* precision = options.precision == Precision::kFloat32 ? "f32" : "bf16";
  return "gpt2 " + base::ToHex(digest) + " " + precision + " " +
         (options.lora.has_value() ? IdentityText(*options.lora) : "full");
}

}  // namespace

FederatedGpt::FederatedGpt(const FederatedGptOptions& options,
                           std::unique_ptr<const PublicModel> model,
                           std::unique_ptr<const tokenizer::Tokenizer> tokenizer,
                           std::string description)
    : options_(options),
      model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      description_(std::move(description)) {}

FederatedGpt::~FederatedGpt() = default;

StatusOr<std::unique_ptr<FederatedGpt>> FederatedGpt::Load(const FederatedGptOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(auto tokenizer, LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(CheckIsPublic(options.public_directory));
  return CatchTorchErrors([&]() -> StatusOr<std::unique_ptr<FederatedGpt>> {
    auto model = std::make_unique<PublicModel>();
    SUBMIX_ASSIGN_OR_RETURN(*model, LoadPublicModel(options.public_directory));
    SUBMIX_ASSIGN_OR_RETURN(std::string description, Describe(options));
    std::unique_ptr<FederatedGpt> gpt(
        new FederatedGpt(options, std::move(model), std::move(tokenizer), std::move(description)));
    SUBMIX_ASSIGN_OR_RETURN(const auto trained, gpt->MakeTrained());
    gpt->vectors_ = trained->parameters().vectors();
    return gpt;
  });
}

// What is frozen is shared where the precision allows. At zero.
StatusOr<std::unique_ptr<MemberModels>> FederatedGpt::MakeTrained() const {
  return MakeMembers(*model_, options_.lora, /*groups=*/1, options_.precision);
}

int FederatedGpt::context_length() const { return model_->config.context_length; }

StatusOr<std::vector<float>> FederatedGpt::Start(std::uint64_t seed) const {
  return CatchTorchErrors([&]() -> StatusOr<std::vector<float>> {
    SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
    models->Initialize(0, seed);
    const std::span<const float> values = models->parameters().values(0);
    return std::vector<float>(values.begin(), values.end());
  });
}

StatusOr<std::string> FederatedGpt::Save(std::span<const float> parameters,
                                         const ensemble::TrainingCost& cost, double epsilon,
                                         double delta,
                                         std::map<std::string, std::string> hyper_parameters,
                                         const std::string& directory) const {
  const std::string trained = base::JoinPath(directory, "model");
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(trained));
  SUBMIX_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
    SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
    std::ranges::copy(parameters, models->parameters().values(0).begin());
    return models->Save(0, trained);
  }));
  ensemble::Manifest manifest;
  manifest.partition_key_id = "none";
  manifest.num_parts = 1;
  manifest.halves = 1;
  manifest.hyper_parameters = std::move(hyper_parameters);
  ensemble::MemberEntry member;
  member.directory = ensemble::MemberDirectory(0, 0, 1, 1);
  member.generation = 1;
  member.steps = cost.steps;
  member.complete = true;
  manifest.members.push_back(member);
  std::string merged =
      base::JoinPath(directory, cost.noise_multiplier > 0 ? "released" : "not_private");
  SUBMIX_RETURN_IF_ERROR(WriteReleasedEnsemble(options_.public_directory, trained,
                                               std::move(manifest),
                                               TrainingCostJson(cost, epsilon, delta), merged));
  return merged;
}

std::unique_ptr<ClientModel> FederatedGpt::MakeClient(int rows, int positions) const {
  auto models = MakeTrained();
  SUBMIX_CHECK(models.ok(), "what Load made can be made again");
  return std::make_unique<GptClient>(*std::move(models), tokenizer_->end_of_text(), rows,
                                     positions);
}

StatusOr<PredictionMetrics> FederatedGpt::Evaluate(std::span<const float> parameters,
                                                   std::span<const std::vector<TokenId>> streams,
                                                   int threads) const {
  std::vector<PredictionCount> counts(streams.size());
  SUBMIX_RETURN_IF_ERROR(RunOnClientThreads(threads, streams.size(), [&](ClientQueue& queue, int) {
    return CatchTorchErrors([&]() -> Status {
      SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
      std::ranges::copy(parameters, models->parameters().values(0).begin());
      while (const auto next = queue.Next()) {
        const TokenBlocks blocks(streams[*next], tokenizer_->end_of_text(),
                                 static_cast<std::size_t>(context_length()));
        counts[*next] = CountPredictions(*models, blocks);
      }
      return base::OkStatus();
    });
  }));
  PredictionCount total;
  for (const PredictionCount& count : counts) total.Add(count);
  return total.Metrics();
}

}  // namespace submix::train

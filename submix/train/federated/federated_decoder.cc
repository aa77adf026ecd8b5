#include "submix/train/federated/federated_decoder.h"

#include <algorithm>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/train/federated/local_pass.h"
#include "submix/train/fine_tuning/released_model.h"
#include "submix/train/models/member_models.h"
#include "submix/train/numerics/client_threads.h"
#include "submix/train/numerics/torch_errors.h"
#include "submix/train/recipes/member_recipe.h"

namespace submix::train {

using base::Status;
using base::StatusOr;
using base::TokenId;

namespace {

using corpus::StreamToken;
using Blocks = std::vector<std::vector<StreamToken>>;

// A user's tokens in blocks of up to `positions` predictions: each holds what is read and, behind
// it, the last token that is predicted. Those that predict nothing that counts are left out.
Blocks CutIntoBlocks(std::span<const StreamToken> tokens, TokenId end_of_text,
                     std::size_t positions) {
  Blocks blocks;
  for (std::size_t begin = 0; begin < tokens.size(); begin += positions) {
    const auto predicted = tokens.subspan(begin, std::min(positions, tokens.size() - begin));
    blocks.push_back({begin == 0 ? end_of_text : tokens[begin - 1]});
    blocks.back().insert(blocks.back().end(), predicted.begin(), predicted.end());
    if (corpus::NumCounted(blocks.back()) == 0) blocks.pop_back();
  }
  return blocks;
}

class DecoderClient final : public ClientModel {
 public:
  DecoderClient(std::unique_ptr<MemberModels> models, TokenId end_of_text, int rows, int positions)
      : models_(std::move(models)),
        end_of_text_(end_of_text),
        rows_(static_cast<std::size_t>(rows)),
        positions_(static_cast<std::size_t>(positions)) {}

  void SetParameters(std::span<const float> parameters) override {
    std::ranges::copy(parameters, models_->parameters().values(0).begin());
  }

  void Begin(std::span<const StreamToken> tokens) override {
    blocks_ = CutIntoBlocks(tokens, end_of_text_, positions_);
    next_ = 0;
    batch_ = {};
  }

  std::int64_t NextBatch() override {
    batch_ = std::span(blocks_).subspan(next_, std::min(rows_, blocks_.size() - next_));
    next_ += batch_.size();
    return NumTargets(batch_);
  }

  void Gradient(float weight, std::span<float> gradient) override {
    const at::Tensor mean = models_->Loss(BatchOf(batch_));
    models_->parameters().Differentiate(mean * (weight * static_cast<float>(NumTargets(batch_))));
    std::ranges::copy(models_->parameters().gradients(0), gradient.begin());
  }

 private:
  const std::unique_ptr<MemberModels> models_;
  const TokenId end_of_text_;
  const std::size_t rows_;
  const std::size_t positions_;
  Blocks blocks_;
  std::size_t next_ = 0;
  std::span<const std::vector<StreamToken>> batch_;  // of blocks_
};

PredictionCount CountPredictions(MemberModels& models, const Blocks& blocks) {
  PredictionCount count;
  for (const std::vector<StreamToken>& block : blocks) {
    const at::Tensor logits = models.Logits(BatchOf({&block, 1}).tokens()).contiguous();
    const auto vocab_size = static_cast<std::size_t>(logits.size(1));
    for (std::size_t i = 0; i + 1 < block.size(); ++i) {
      if (!corpus::IsCounted(block[i + 1])) continue;
      count.Add(block[i + 1], {logits.data_ptr<float>() + i * vocab_size, vocab_size});
    }
  }
  return count;
}

StatusOr<std::string> Describe(const FederatedDecoderOptions& options, const std::string& family) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string digest, PublicModelSha256(options.public_directory));
  return family + " " + digest + " " + PrecisionName(options.precision) + " " +
         (options.lora.has_value() ? IdentityText(*options.lora) : "full");
}

}  // namespace

FederatedDecoder::FederatedDecoder(const FederatedDecoderOptions& options,
                                   std::unique_ptr<const PublicModel> model,
                                   std::unique_ptr<const tokenizer::Tokenizer> tokenizer,
                                   std::string description)
    : options_(options),
      model_(std::move(model)),
      tokenizer_(std::move(tokenizer)),
      description_(std::move(description)) {}

FederatedDecoder::~FederatedDecoder() = default;

StatusOr<std::unique_ptr<FederatedDecoder>> FederatedDecoder::Load(
    const FederatedDecoderOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(auto tokenizer, ensemble::LoadFittingTokenizer(options.public_directory));
  SUBMIX_RETURN_IF_ERROR(ensemble::CheckIsPublic(options.public_directory));
  return CatchTorchErrors([&]() -> StatusOr<std::unique_ptr<FederatedDecoder>> {
    auto model = std::make_unique<PublicModel>();
    SUBMIX_ASSIGN_OR_RETURN(*model, LoadPublicModel(options.public_directory, options.precision));
    SUBMIX_RETURN_IF_ERROR(CheckAdapterOptions(options.lora, model->config));
    SUBMIX_ASSIGN_OR_RETURN(std::string description, Describe(options, model->config.family));
    std::unique_ptr<FederatedDecoder> decoder(new FederatedDecoder(
        options, std::move(model), std::move(tokenizer), std::move(description)));
    SUBMIX_ASSIGN_OR_RETURN(const auto trained, decoder->MakeTrained());
    decoder->vectors_ = trained->parameters().vectors();
    return decoder;
  });
}

// What is frozen is shared where the precision allows. At zero.
StatusOr<std::unique_ptr<MemberModels>> FederatedDecoder::MakeTrained() const {
  return MakeMembers(*model_, options_.lora, /*groups=*/1, options_.precision);
}

std::string FederatedDecoder::Source() const {
  return options_.loss == corpus::Loss::kAll ? "public model, loss all" : "public model";
}

StatusOr<TokenStreams> FederatedDecoder::ReadUsers(const corpus::CorpusFile& file,
                                                   const UserWordsLimits& limits) const {
  const corpus::RecordEncoder encoder(*tokenizer_, options_.public_directory, options_.loss);
  const auto append = [&](const corpus::UserRecord& record,
                          std::vector<StreamToken>& stream) -> Status {
    SUBMIX_ASSIGN_OR_RETURN(const corpus::EncodedRecord encoded, encoder.Encode(record));
    if (!encoded.has_text) return base::OkStatus();
    stream.insert(stream.end(), encoded.tokens.begin(), encoded.tokens.end());
    stream.push_back(encoded.end);
    return base::OkStatus();
  };
  return ReadUserStreams(file, limits, append);
}

StatusOr<std::vector<float>> FederatedDecoder::Start(const LocalTraining& local,
                                                     std::uint64_t seed) const {
  const int most = model_->config.context_length;
  if (local.unroll > most) {
    return base::InvalidArgumentError("unroll " + std::to_string(local.unroll) +
                                      ": the public model reads " + std::to_string(most) +
                                      " tokens");
  }
  return CatchTorchErrors([&]() -> StatusOr<std::vector<float>> {
    SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
    models->Initialize(0, seed);
    const std::span<const float> values = models->parameters().values(0);
    return std::vector<float>(values.begin(), values.end());
  });
}

StatusOr<std::string> FederatedDecoder::Save(std::span<const float> parameters,
                                             const FederatedCost& cost,
                                             const std::string& directory) const {
  const std::string trained = base::JoinPath(directory, "model");
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(trained));
  SUBMIX_RETURN_IF_ERROR(CatchTorchErrors([&]() -> Status {
    SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
    std::ranges::copy(parameters, models->parameters().values(0).begin());
    return models->Save(0, trained);
  }));
  ensemble::Manifest manifest = ensemble::NewManifest({1, 1, /*heldout_fraction=*/0}, "none",
                                                      {{"private", cost.cost.mechanism}});
  manifest.members.front().steps = cost.cost.steps;
  manifest.members.front().complete = true;
  std::string merged =
      base::JoinPath(directory, cost.cost.noise_multiplier > 0 ? "released" : "not_private");
  SUBMIX_RETURN_IF_ERROR(
      WriteReleasedEnsemble(options_.public_directory, trained, std::move(manifest),
                            TrainingCostJson(cost.cost, cost.epsilon, cost.delta), merged));
  return merged;
}

std::unique_ptr<ClientModel> FederatedDecoder::MakeClient(int rows, int positions) const {
  auto models = MakeTrained();
  SUBMIX_CHECK(models.ok(), "what Load made can be made again");
  return std::make_unique<DecoderClient>(*std::move(models), tokenizer_->end_of_text(), rows,
                                         positions);
}

StatusOr<PredictionMetrics> FederatedDecoder::Evaluate(
    std::span<const float> parameters, std::span<const std::vector<StreamToken>> streams,
    int threads) const {
  std::vector<PredictionCount> counts(streams.size());
  SUBMIX_RETURN_IF_ERROR(
      RunOnClientThreads(threads, streams.size(), [&](ClientQueue& queue, int) -> Status {
        SUBMIX_ASSIGN_OR_RETURN(const auto models, MakeTrained());
        std::ranges::copy(parameters, models->parameters().values(0).begin());
        while (const auto next = queue.Next()) {
          counts[*next] = CountPredictions(
              *models, CutIntoBlocks(streams[*next], tokenizer_->end_of_text(),
                                     static_cast<std::size_t>(model_->config.context_length)));
        }
        return base::OkStatus();
      }));
  PredictionCount total;
  for (const PredictionCount& count : counts) total.Add(count);
  return total.Metrics();
}

}  // namespace submix::train

#include "submix/train/models/torch_predictor.h"

#include <algorithm>
#include <map>
#include <string>

#include <torch/types.h>

#include "submix/ensemble/predictor_checks.h"
#include "submix/train/models/fused_operations.h"
#include "submix/train/models/gpt_module.h"
#include "submix/train/models/key_value_cache.h"
#include "submix/train/models/model_bank.h"
#include "submix/train/numerics/torch_environment.h"
#include "submix/train/numerics/torch_errors.h"

namespace submix::train {
namespace {

using ensemble::SequenceId;

// Rows of logits that exist at a time in Score.
constexpr std::int64_t kLogitRows = 512;

at::ScalarType ComputeType(Precision precision) {
  return precision == Precision::kBfloat16 ? torch::kBFloat16 : torch::kFloat;
}

// One append: where its tokens are among all appended tokens.
struct AppendRange {
  SequenceId sequence = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

class Impl final : public TorchPredictor {
 public:
  Impl(std::vector<ModelBank> banks, int num_members, std::int64_t score_tokens_at_a_time)
      : banks_(std::move(banks)),
        config_(banks_.front().weights.config),
        num_members_(num_members),
        score_tokens_at_a_time_(score_tokens_at_a_time) {}

  int num_members() const override { return num_members_; }
  int vocab_size() const override { return config_.vocab_size; }
  int context_length() const override { return config_.context_length; }

  SequenceId Open() override {
    std::vector<KeyValueCache> caches;
    for (const ModelBank& bank : banks_) caches.emplace_back(bank);
    sequences_.emplace(++last_sequence_, std::move(caches));
    return last_sequence_;
  }

  void Close(SequenceId sequence) override { sequences_.erase(sequence); }

  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckAppends(
        *this, appends, logits.size(), [this](SequenceId sequence) { return LengthOf(sequence); }));
    if (appends.empty()) return base::OkStatus();
    return CatchTorchErrors([&] { return CheckedStep(appends, logits); });
  }

  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckDocument(*this, tokens, first));
    return CatchTorchErrors([&] { return CheckedScore(tokens, first, sink); });
  }

 private:
  std::int64_t num_rows() const { return num_members_ + 1; }

  std::int64_t LengthOf(SequenceId sequence) const {
    const auto found = sequences_.find(sequence);
    return found == sequences_.end() ? -1 : found->second.front().length();
  }

  base::Status CheckedStep(std::span<const Append> appends, std::span<float> logits);
  at::Tensor StepBank(std::size_t bank, const at::Tensor& tokens, const at::Tensor& positions,
                      std::span<const AppendRange> ranges);
  at::Tensor AttendToCaches(std::size_t bank, int layer, const at::Tensor& qkv,
                            std::span<const AppendRange> ranges);

  base::Status CheckedScore(std::span<const base::TokenId> tokens, std::size_t first,
                            const PositionSink& sink);
  at::Tensor DocumentHidden(const ModelBank& bank, const at::Tensor& tokens) const;
  // logits [P, M + 1, V] from one hidden [G, P, C] a bank.
  void Unembed(std::span<const at::Tensor> hidden, at::Tensor& logits) const;

  const std::vector<ModelBank> banks_;
  const model::GptConfig config_;
  const int num_members_;
  const std::int64_t score_tokens_at_a_time_;
  SequenceId last_sequence_ = 0;
  std::map<SequenceId, std::vector<KeyValueCache>> sequences_;  // one cache a bank
};

base::Status Impl::CheckedStep(std::span<const Append> appends, std::span<float> logits) {
  const at::NoGradGuard no_grad;
  std::vector<AppendRange> ranges;
  std::vector<std::int64_t> tokens, positions, last;
  for (const Append& append : appends) {
    std::vector<KeyValueCache>& caches = sequences_.at(append.sequence);
    ranges.push_back({append.sequence, std::ssize(tokens), std::ssize(append.tokens)});
    for (std::size_t i = 0; i < append.tokens.size(); ++i) {
      tokens.push_back(append.tokens[i]);
      positions.push_back(caches.front().length() + static_cast<std::int64_t>(i));
    }
    last.push_back(std::ssize(tokens) - 1);
    for (KeyValueCache& cache : caches) cache.Reserve(std::ssize(append.tokens));
  }
  const at::Tensor last_index = torch::tensor(last);
  std::vector<at::Tensor> hidden;
  for (std::size_t bank = 0; bank < banks_.size(); ++bank) {
    const at::Tensor x = StepBank(bank, torch::tensor(tokens), torch::tensor(positions), ranges);
    const int groups = banks_[bank].adapters.groups;
    hidden.push_back(FinalNorm(banks_[bank].weights,
                               x.view({groups, -1, config_.width}).index_select(1, last_index)));
  }
  at::Tensor out = torch::from_blob(
      logits.data(), {std::ssize(appends), num_rows(), config_.vocab_size}, torch::kFloat);
  Unembed(hidden, out);
  // Only now, so that an error leaves every sequence as it was.
  for (const AppendRange& range : ranges) {
    for (KeyValueCache& cache : sequences_.at(range.sequence)) cache.Commit(range.count);
  }
  return base::OkStatus();
}

at::Tensor Impl::StepBank(std::size_t bank_index, const at::Tensor& tokens,
                          const at::Tensor& positions, std::span<const AppendRange> ranges) {
  const ModelBank& bank = banks_[bank_index];
  at::Tensor x =
      at::embedding(bank.weights.wte, tokens) + at::embedding(bank.weights.wpe, positions);
  for (int layer = 0; layer < config_.layers; ++layer) {
    if (layer == bank.first_adapted_layer) x = RepeatForGroups(x, bank.adapters.groups);
    const Attention attend = [&](const at::Tensor& qkv) {
      return AttendToCaches(bank_index, layer, qkv, ranges);
    };
    x = TransformerLayer(bank.weights, layer, &bank.adapters, attend, x);
  }
  return bank.first_adapted_layer == config_.layers ? RepeatForGroups(x, bank.adapters.groups) : x;
}

at::Tensor Impl::AttendToCaches(std::size_t bank, int layer, const at::Tensor& qkv,
                                std::span<const AppendRange> ranges) {
  const at::Tensor input = qkv.to(torch::kFloat).contiguous();
  at::Tensor out = torch::empty({qkv.size(0), config_.width});
  const std::int64_t group_positions = qkv.size(0) / banks_[bank].GroupsAt(layer);
  for (const AppendRange& range : ranges) {
    sequences_.at(range.sequence)[bank].Attend(
        layer, {.qkv = input.data_ptr<float>() + range.begin * 3 * config_.width,
                .out = out.data_ptr<float>() + range.begin * config_.width,
                .count = range.count,
                .group_positions = group_positions});
  }
  return out.to(qkv.scalar_type());
}

base::Status Impl::CheckedScore(std::span<const base::TokenId> tokens, std::size_t first,
                                const PositionSink& sink) {
  if (first >= tokens.size()) return base::OkStatus();
  const at::NoGradGuard no_grad;
  const auto inputs = std::ssize(tokens) - 1;
  const at::Tensor ids =
      torch::tensor(std::vector<std::int64_t>(tokens.begin(), tokens.end() - 1)).view({1, inputs});
  std::vector<at::Tensor> hidden;  // [G, T, C] a bank
  for (const ModelBank& bank : banks_) hidden.push_back(DocumentHidden(bank, ids));

  const std::int64_t at_a_time = std::max<std::int64_t>(1, kLogitRows / num_rows());
  const std::size_t position_size =
      static_cast<std::size_t>(num_rows()) * static_cast<std::size_t>(config_.vocab_size);
  at::Tensor buffer = torch::empty({at_a_time, num_rows(), config_.vocab_size});
  for (auto begin = static_cast<std::int64_t>(first) - 1; begin < inputs; begin += at_a_time) {
    const std::int64_t count = std::min(at_a_time, inputs - begin);
    std::vector<at::Tensor> slices;
    for (const at::Tensor& h : hidden) slices.push_back(h.narrow(1, begin, count));
    at::Tensor logits = buffer.narrow(0, 0, count);
    Unembed(slices, logits);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::span<const float> position(
          logits.data_ptr<float>() + static_cast<std::size_t>(i) * position_size, position_size);
      SUBMIX_RETURN_IF_ERROR(sink(static_cast<std::size_t>(begin + i) + 1, position));
    }
  }
  return base::OkStatus();
}

at::Tensor Impl::DocumentHidden(const ModelBank& bank, const at::Tensor& tokens) const {
  const std::int64_t positions = tokens.size(1);
  const Attention attend = [&](const at::Tensor& qkv) {
    return CausalAttention(qkv, positions, config_.attention_heads);
  };
  at::Tensor trunk = EmbedFromStart(bank.weights, tokens);
  for (int layer = 0; layer < bank.first_adapted_layer; ++layer) {
    trunk = TransformerLayer(bank.weights, layer, nullptr, attend, trunk);
  }
  at::Tensor hidden = torch::empty({bank.adapters.groups, positions, config_.width});
  const int most_groups =
      static_cast<int>(std::max<std::int64_t>(1, score_tokens_at_a_time_ / positions));
  for (int begin = 0; begin < bank.adapters.groups; begin += most_groups) {
    const int groups = std::min(most_groups, bank.adapters.groups - begin);
    const LoraStack adapters = SliceGroups(bank.adapters, begin, groups);
    at::Tensor x = RepeatForGroups(trunk, groups);
    for (int layer = bank.first_adapted_layer; layer < config_.layers; ++layer) {
      x = TransformerLayer(bank.weights, layer, &adapters, attend, x);
    }
    hidden.narrow(0, begin, groups)
        .copy_(FinalNorm(bank.weights, x).view({groups, positions, config_.width}));
  }
  return hidden;
}

void Impl::Unembed(std::span<const at::Tensor> hidden, at::Tensor& logits) const {
  for (std::size_t i = 0; i < banks_.size(); ++i) {
    const at::Tensor rows = hidden[i].transpose(0, 1).reshape({-1, config_.width});
    const at::Tensor unembedding = banks_[i].weights.unembedding.t();
    if (banks_.size() == 1) {
      at::Tensor flat = logits.view({-1, config_.vocab_size});
      at::mm_out(flat, rows, unembedding);
      return;
    }
    logits.index_copy_(1, torch::tensor(banks_[i].rows),
                       at::mm(rows, unembedding)
                           .view({logits.size(0), banks_[i].adapters.groups, config_.vocab_size}));
  }
}

// As trained, but with the unembedding in float32: rounding logits to bfloat16 would show.
base::StatusOr<GptWeights> LoadForPrediction(const std::string& directory, Precision precision) {
  SUBMIX_ASSIGN_OR_RETURN(GptWeights weights, LoadGptWeights(directory, ComputeType(precision)));
  weights.unembedding = weights.wte;
  return weights;
}

base::StatusOr<std::vector<ModelBank>> LoadBanks(const TorchPredictorOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(GptWeights public_weights,
                          LoadForPrediction(options.public_directory, options.precision));
  const model::GptConfig config = public_weights.config;
  std::vector<model::LoraAdapter> adapters;
  std::vector<std::int64_t> adapter_rows = {0};
  std::vector<ModelBank> whole_models;
  for (std::size_t m = 0; m < options.member_directories.size(); ++m) {
    const std::string& directory = options.member_directories[m];
    const auto row = static_cast<std::int64_t>(m) + 1;
    if (ensemble::IsAdapterDirectory(directory)) {
      SUBMIX_ASSIGN_OR_RETURN(model::LoraAdapter adapter,
                              model::LoadLoraAdapter(directory, config));
      adapters.push_back(std::move(adapter));
      adapter_rows.push_back(row);
      continue;
    }
    SUBMIX_ASSIGN_OR_RETURN(GptWeights weights, LoadForPrediction(directory, options.precision));
    SUBMIX_RETURN_IF_ERROR(ensemble::CheckMemberShape(weights.config, config, directory));
    whole_models.push_back(BankOfOne(std::move(weights), row));
  }
  ModelBank shared;
  shared.adapters = StackForInference(config, adapters);
  shared.first_adapted_layer = shared.adapters.FirstAdaptedLayer();
  shared.weights = std::move(public_weights);
  shared.rows = std::move(adapter_rows);
  std::vector<ModelBank> banks;
  banks.push_back(std::move(shared));
  std::ranges::move(whole_models, std::back_inserter(banks));
  return banks;
}

}  // namespace

base::StatusOr<std::unique_ptr<ensemble::Predictor>> TorchPredictor::Load(
    const TorchPredictorOptions& options) {
  if (options.score_tokens_at_a_time < 1) {
    return base::InvalidArgumentError("score_tokens_at_a_time: expected 1 or more");
  }
  SUBMIX_RETURN_IF_ERROR(SetTorchThreads(options.threads));
  return CatchTorchErrors([&]() -> base::StatusOr<std::unique_ptr<ensemble::Predictor>> {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<ModelBank> banks, LoadBanks(options));
    return std::unique_ptr<ensemble::Predictor>(std::make_unique<Impl>(
        std::move(banks), static_cast<int>(options.member_directories.size()),
        options.score_tokens_at_a_time));
  });
}

}  // namespace submix::train

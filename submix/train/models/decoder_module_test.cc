#include "submix/train/models/decoder_module.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/autograd/autograd.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/testing/tiny_families.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/models/frozen_states.h"
#include "submix/train/models/fused_operations.h"
#include "submix/train/models/member_models.h"
#include "submix/train/models/torch_predictor.h"

namespace submix::train {
namespace decoder_module_test {

// Two rows a member of random tokens, the last one short.
TokenBatch MakeBatch(const model::DecoderConfig& config, int groups, std::int64_t positions) {
  TokenBatch batch(2 * groups, positions);
  const auto longest = static_cast<std::size_t>(positions) + 1;
  for (int group = 0; group < groups; ++group) {
    const auto seed = static_cast<std::uint64_t>(group);
    batch.SetRow(2 * group, model::RandomTokens(longest, config.vocab_size, seed));
    batch.SetRow(2 * group + 1, model::RandomTokens(longest - 3, config.vocab_size, 10 + seed));
    batch.WeighEqually(2 * group, 2 * group + 2);
  }
  return batch;
}

// Compares gradients with central differences at every `stride`th parameter.
void ExpectGradients(MemberModels& models, const TokenBatch& batch, std::size_t stride) {
  FlatParameters& parameters = models.parameters();
  parameters.Differentiate(models.Loss(batch));
  for (int group = 0; group < parameters.groups(); ++group) {
    const std::vector<float> gradients(parameters.gradients(group).begin(),
                                       parameters.gradients(group).end());
    const std::span<float> values = parameters.values(group);
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < values.size(); i += stride) {
      constexpr float kStep = 3e-3f;
      const float value = values[i];
      const auto loss_at = [&](float x) {
        values[i] = x;
        const at::Tensor log_pmf =
            at::log_softmax(models.Logits(batch.tokens()).to(torch::kDouble), 1);
        const at::Tensor losses =
            -log_pmf.gather(1, batch.targets().clamp_min(0).unsqueeze(1)).squeeze(1);
        return at::dot(losses, batch.weights().to(torch::kDouble)).item<double>();
      };
      const double slope = (loss_at(value + kStep) - loss_at(value - kStep)) / (2.0 * kStep);
      values[i] = value;
      // Losses carry up to 2e-6 of float32's noise, the difference quotient 4e-4 and its own error.
      EXPECT_NEAR(gradients[i], slope, 5e-4 + 1e-2 * std::abs(slope)) << group << " " << i;
    }
  }
}

// B starts at zero, where A has no gradient: away from it.
void MoveFactorsB(MemberModels& models) {
  for (int group = 0; group < models.parameters().groups(); ++group) {
    for (std::size_t i = 1; i < models.parameters().vectors().size(); i += 2) {
      float sign = 0.1f;
      for (float& value : models.parameters().values(group, i)) value = sign = -sign;
    }
  }
}

class DecoderModuleTest : public ::testing::Test {
 protected:
  DecoderModuleTest() {
    model::WriteTinyModel(directory_.path(), model::TinyConfig(), 1);
    auto model = LoadPublicModel(directory_.path(), Precision::kFloat32);
    SUBMIX_EXPECT_OK(model);
    public_model_ = *std::move(model);
  }

  base::TemporaryDirectory directory_;
  PublicModel public_model_;
};

TEST_F(DecoderModuleTest, LoraGradientsOfEveryMemberEqualFiniteDifferences) {
  model::LoraConfig config;
  config.rank = 2;
  config.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  config.layers = {1, 2};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, config, 2, Precision::kFloat32));
  models->Initialize(0, 1);
  models->Initialize(1, 2);
  MoveFactorsB(*models);
  ExpectGradients(*models, MakeBatch(public_model_.config, 2, 7), 7);
}

TEST_F(DecoderModuleTest, GradientsOfAllWeightsEqualFiniteDifferences) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, std::nullopt, 1, Precision::kFloat32));
  models->Initialize(0, 0);
  ExpectGradients(*models, MakeBatch(public_model_.config, 1, 7), 97);
}

TEST_F(DecoderModuleTest, WhatARowStartsFromDependsOnNoOtherRow) {
  model::LoraConfig config;
  config.layers = {2};
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                                MakeMembers(public_model_, config, 1, precision));
    models->Initialize(0, 1);
    MoveFactorsB(*models);
    constexpr std::int64_t kPositions = 9;
    FrozenStates states(directory_.path(), 6, models->StateBytes(kPositions));
    FrozenStates none("/nowhere", 6, models->StateBytes(kPositions));
    const auto gradients = [&](std::vector<std::size_t> blocks, FrozenStates* kept) {
      TokenBatch batch(6, kPositions);  // the rest is padding
      for (std::size_t row = 0; row < blocks.size(); ++row) {
        std::optional<StatePlace> place;
        if (kept != nullptr) place = {kept, blocks[row]};
        batch.SetRow(static_cast<std::int64_t>(row),
                     model::RandomTokens(4 + blocks[row], 53, blocks[row]), place);
      }
      batch.WeighEqually(0, std::ssize(blocks));
      models->parameters().Differentiate(models->Loss(batch));
      const std::span<const float> found = models->parameters().gradients(0);
      return std::vector<float>(found.begin(), found.end());
    };
    // Kept in other company, in other rows.
    gradients({3, 1, 5, 0}, &states);
    gradients({2, 4}, &states);
    const std::vector<float> read = gradients({0, 1, 2, 3, 4, 5}, &states);
    EXPECT_EQ(read, gradients({0, 1, 2, 3, 4, 5}, &none));
    // And it is the pass that it cuts in two.
    const std::vector<float> whole = gradients({0, 1, 2, 3, 4, 5}, nullptr);
    const float largest =
        std::abs(*std::ranges::max_element(whole, {}, [](float value) { return std::abs(value); }));
    const float error = (precision == Precision::kFloat32 ? 1e-5f : 0.1f) * largest;
    for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(read[i], whole[i], error) << i;
  }
}

TEST_F(DecoderModuleTest, AttentionSeesOnlyThePast) {
  const DecoderWeights weights =
      AssembleWeights(public_model_.config, public_model_.tensors, torch::kFloat);
  const at::NoGradGuard no_grad;
  at::Tensor tokens = torch::randint(0, 53, {1, 10}, torch::kLong);
  const at::Tensor before = HiddenStates(weights, {}, tokens).clone();
  tokens.index_put_({0, 6}, (tokens.index({0, 6}) + 1) % 53);
  const at::Tensor after = HiddenStates(weights, {}, tokens);
  EXPECT_TRUE(at::equal(before.narrow(0, 0, 6), after.narrow(0, 0, 6)));
  EXPECT_FALSE(at::allclose(before[6], after[6]));
}

// Models of today's families against log-probabilities that are not this project's
// (testdata/families).
class FamiliesTest : public ::testing::TestWithParam<const char*> {
 protected:
  FamiliesTest()
      : model_directory_(std::string(SUBMIX_TESTDATA_DIR) + "/families/" + GetParam()),
        reference_(nlohmann::json::parse(std::ifstream(model_directory_ + "/reference.json"))),
        tokens_(reference_.at("tokens")) {
    auto model = LoadPublicModel(model_directory_, Precision::kFloat32);
    SUBMIX_EXPECT_OK(model);
    public_model_ = *std::move(model);
  }

  bool HasAdapter() const { return reference_.contains("adapter_next_log_probs"); }

  std::unique_ptr<MemberModels> Members(const std::optional<model::LoraConfig>& lora, int groups) {
    auto models = MakeMembers(public_model_, lora, groups, Precision::kFloat32);
    SUBMIX_EXPECT_OK(models);
    for (int group = 0; group < groups; ++group) {
      (*models)->Initialize(group, static_cast<std::uint64_t>(group));
    }
    return *std::move(models);
  }

  // logits [rows, V] of all tokens but the last one.
  void ExpectReference(const at::Tensor& logits, const char* field) const {
    const at::Tensor log_pmf = at::log_softmax(logits.to(torch::kDouble), 1);
    const std::vector<double> expected = reference_.at(field);
    ASSERT_GE(log_pmf.size(0), std::ssize(expected));
    for (std::size_t t = 0; t < expected.size(); ++t) {
      ASSERT_NEAR(log_pmf[static_cast<std::int64_t>(t)][tokens_[t + 1]].item<double>(), expected[t],
                  1e-3)
          << field << " " << t;
    }
  }

  at::Tensor Tokens() const {
    return torch::tensor(std::vector<std::int64_t>(tokens_.begin(), tokens_.end())).unsqueeze(0);
  }

  base::TemporaryDirectory directory_;
  const std::string model_directory_;
  const nlohmann::json reference_;
  const std::vector<base::TokenId> tokens_;
  PublicModel public_model_;
};

TEST_P(FamiliesTest, ModelsAndAdaptersAreTheReference) {
  const auto whole = Members(std::nullopt, 1);
  ExpectReference(whole->Logits(Tokens()), "next_log_probs");
  if (!HasAdapter()) return;
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const model::LoraAdapter adapter,
      model::LoadLoraAdapter(model_directory_ + "/adapter", public_model_.config));
  const auto adapted = Members(adapter.config, 2);
  for (std::size_t i = 0; i < adapter.modules.size(); ++i) {
    std::ranges::copy(adapter.modules[i].a, adapted->parameters().values(1, 2 * i).begin());
    std::ranges::copy(adapter.modules[i].b, adapted->parameters().values(1, 2 * i + 1).begin());
  }
  // The first member has not learned yet: it is the public model.
  const auto logits = adapted->Logits(at::cat({Tokens(), Tokens()}, 0)).chunk(2, 0);
  ExpectReference(logits[0], "next_log_probs");
  ExpectReference(logits[1], "adapter_next_log_probs");

  SUBMIX_ASSERT_OK(adapted->Save(1, directory_.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const model::LoraAdapter saved,
                              model::LoadLoraAdapter(directory_.path(), public_model_.config));
  ASSERT_EQ(saved.modules.size(), adapter.modules.size());
  for (std::size_t i = 0; i < saved.modules.size(); ++i) {
    EXPECT_EQ(saved.modules[i].name, adapter.modules[i].name);
    EXPECT_EQ(saved.modules[i].a, adapter.modules[i].a);
    EXPECT_EQ(saved.modules[i].b, adapter.modules[i].b);
  }
}

TEST_P(FamiliesTest, ThePlainPredictorIsTheReference) {
  TorchPredictorOptions options;
  options.public_directory = model_directory_;
  if (HasAdapter()) options.member_directories = {model_directory_ + "/adapter"};
  options.threads = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto predictor, TorchPredictor::Load(options));
  std::vector<at::Tensor> rows;  // [members + 1, V] a position
  SUBMIX_ASSERT_OK(predictor->Score(tokens_, 1, [&](std::size_t, std::span<const float> logits) {
    rows.push_back(torch::tensor(std::vector<float>(logits.begin(), logits.end()))
                       .view({predictor->num_members() + 1, public_model_.config.vocab_size}));
    return base::OkStatus();
  }));
  const at::Tensor logits = at::stack(rows, 1);
  ExpectReference(logits[0], "next_log_probs");
  if (HasAdapter()) ExpectReference(logits[1], "adapter_next_log_probs");
}

TEST_P(FamiliesTest, GradientsEqualFiniteDifferences) {
  constexpr std::int64_t kPositions = 20;  // more than a window
  constexpr std::size_t kChecked = 24;
  model::LoraConfig lora;
  lora.rank = 2;
  lora.target_modules = {"all-linear"};
  const auto adapters = Members(lora, 2);
  MoveFactorsB(*adapters);
  ExpectGradients(*adapters, MakeBatch(public_model_.config, 2, kPositions),
                  adapters->parameters().size() / kChecked);
  const auto whole = Members(std::nullopt, 1);
  ExpectGradients(*whole, MakeBatch(public_model_.config, 1, kPositions),
                  whole->parameters().size() / kChecked);
}

TEST_P(FamiliesTest, WholeModelsAreSavedAsTheyWereRead) {
  const auto whole = Members(std::nullopt, 1);
  SUBMIX_ASSERT_OK(whole->Save(0, directory_.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PublicModel saved,
                              LoadPublicModel(directory_.path(), Precision::kFloat32));
  EXPECT_EQ(saved.config, public_model_.config);
  ASSERT_EQ(saved.tensors.size(), public_model_.tensors.size());
  for (std::size_t i = 0; i < saved.tensors.size(); ++i) {
    EXPECT_TRUE(at::equal(saved.tensors[i], public_model_.tensors[i]));
  }
}

// Files are in bfloat16: nothing of the weights is lost, only products are rounded.
TEST_P(FamiliesTest, InBfloat16ItStaysNearAndTakesHalfTheMemory) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PublicModel half,
                              LoadPublicModel(model_directory_, Precision::kBfloat16));
  for (std::size_t i = 0; i < half.tensors.size(); ++i) {
    EXPECT_EQ(half.tensors[i].scalar_type(),
              half.tensors[i].dim() > 1 ? torch::kBFloat16 : torch::kFloat);
    EXPECT_TRUE(at::equal(half.tensors[i].to(torch::kFloat), public_model_.tensors[i]));
  }
  model::LoraConfig lora;
  lora.target_modules = {"all-linear"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto rounded, MakeMembers(half, lora, 1, Precision::kBfloat16));
  rounded->Initialize(0, 1);
  const TokenBatch batch = MakeBatch(public_model_.config, 1, 20);
  EXPECT_NEAR(rounded->Loss(batch).item<double>(), Members(lora, 1)->Loss(batch).item<double>(),
              0.05);
}

INSTANTIATE_TEST_SUITE_P(Families, FamiliesTest, model::TinyFamilies(), model::TinyFamilyName);

TEST(FusedOperationsTest, CrossEntropyInBfloat16IsThatOfFloatRounded) {
  const at::Tensor hidden = torch::randn({300, 8}).to(torch::kBFloat16);
  const at::Tensor unembedding = torch::randn({37, 8}).to(torch::kBFloat16);
  const at::Tensor targets = torch::randint(0, 37, {300}, torch::kLong);
  // Only the logits, of some ten at most, are rounded before the loss of each row.
  for (std::int64_t row = 0; row < 300; ++row) {
    const at::Tensor weights = torch::zeros({300});
    weights[row] = 1;
    const at::Tensor loss = UnembeddingCrossEntropy(hidden, unembedding, targets, weights, 0);
    const at::Tensor exact = UnembeddingCrossEntropy(
        hidden.to(torch::kFloat), unembedding.to(torch::kFloat), targets, weights, 0);
    EXPECT_NEAR(loss.item<double>(), exact.item<double>(), .1);
  }
}

// Also of more tokens than are multiplied at a time.
TEST(FusedOperationsTest, CrossEntropyEqualsTorch) {
  for (const auto& [cap, vocab] : {std::pair(0.0, 37), std::pair(3.0, 37), std::pair(3.0, 4200)}) {
    const std::int64_t rows = 300;
    at::Tensor hidden = torch::randn({rows, 8}).requires_grad_();
    at::Tensor unembedding = torch::randn({vocab, 8}).requires_grad_();
    at::Tensor targets = torch::randint(0, vocab, {rows}, torch::kLong);
    targets.narrow(0, 40, 20).fill_(-1);
    at::Tensor weights = torch::rand({rows});
    weights.narrow(0, 40, 20).zero_();
    at::Tensor logits = at::mm(hidden, unembedding.t());
    if (cap > 0) logits = cap * at::tanh(logits / cap);
    const at::Tensor log_softmax = at::log_softmax(logits, 1);
    const at::Tensor picked =
        -log_softmax.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1) * weights;
    const auto expected = torch::autograd::grad({picked.sum() * 3}, {hidden, unembedding});
    const at::Tensor loss = UnembeddingCrossEntropy(hidden, unembedding, targets, weights, cap);
    const auto actual = torch::autograd::grad({loss * 3}, {hidden, unembedding});
    EXPECT_NEAR(loss.item<double>(), picked.sum().item<double>(), 1e-3);
    EXPECT_TRUE(at::allclose(actual[0], expected[0], 1e-4, 1e-5));
    EXPECT_TRUE(at::allclose(actual[1], expected[1], 1e-4, 1e-4));
  }
}

}  // namespace decoder_module_test
}  // namespace submix::train

#include "submix/train/models/gpt_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/models/fused_operations.h"
#include "submix/train/models/member_models.h"

namespace submix::train {
namespace gpt_module_test {

// Two rows a member of random tokens, the last one short.
TokenBatch MakeBatch(const model::DecoderConfig& config, int groups) {
  constexpr std::int64_t kPositions = 7;
  TokenBatch batch(2 * groups, kPositions);
  for (int group = 0; group < groups; ++group) {
    const auto seed = static_cast<std::uint64_t>(group);
    batch.SetRow(2 * group, model::RandomTokens(8, config.vocab_size, seed));
    batch.SetRow(2 * group + 1, model::RandomTokens(5, config.vocab_size, 10 + seed));
    batch.WeighEqually(2 * group, 2 * group + 2);
  }
  return batch;
}

// Compares gradients with central differences at every 7th parameter.
void ExpectGradients(MemberModels& models, const TokenBatch& batch) {
  FlatParameters& parameters = models.parameters();
  parameters.Differentiate(models.Loss(batch).total);
  for (int group = 0; group < parameters.groups(); ++group) {
    const std::vector<float> gradients(parameters.gradients(group).begin(),
                                       parameters.gradients(group).end());
    const std::span<float> values = parameters.values(group);
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i<values.size(); i += values.size()> 4000 ? 97 : 7) {
      constexpr float kStep = 5e-3f;
      const float value = values[i];
      const auto loss_at = [&](float x) {
        values[i] = x;
        const CrossEntropy loss = models.Loss(batch);
        return at::dot(loss.row_losses.to(torch::kDouble), batch.weights().to(torch::kDouble))
            .item<double>();
      };
      const double slope = (loss_at(value + kStep) - loss_at(value - kStep)) / (2.0 * kStep);
      values[i] = value;
      // Losses carry about 1e-6 of float32's noise, the difference quotient 1e-4 and its own error.
      EXPECT_NEAR(gradients[i], slope, 5e-4 + 1e-2 * std::abs(slope)) << group << " " << i;
    }
  }
}

class GptModuleTest : public ::testing::Test {
 protected:
  GptModuleTest() {
    model::WriteTinyModel(directory_.path(), model::TinyConfig(), 1);
    auto model = LoadPublicModel(directory_.path());
    SUBMIX_EXPECT_OK(model);
    public_model_ = *std::move(model);
  }

  base::TemporaryDirectory directory_;
  PublicModel public_model_;
};

TEST_F(GptModuleTest, LoraGradientsOfEveryMemberEqualFiniteDifferences) {
  model::LoraConfig config;
  config.rank = 2;
  config.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  config.layers = {1, 2};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, config, 2, Precision::kFloat32));
  models->Initialize(0, 1);
  models->Initialize(1, 2);
  // B starts at zero, where A has no gradient: move away from it.
  for (int group = 0; group < 2; ++group) {
    for (std::size_t i = 1; i < models->parameters().vectors().size(); i += 2) {
      float sign = 0.1f;
      for (float& value : models->parameters().values(group, i)) value = sign = -sign;
    }
  }
  ExpectGradients(*models, MakeBatch(public_model_.config, 2));
}

TEST_F(GptModuleTest, GradientsOfAllWeightsEqualFiniteDifferences) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, std::nullopt, 1, Precision::kFloat32));
  models->Initialize(0, 0);
  ExpectGradients(*models, MakeBatch(public_model_.config, 1));
}

TEST_F(GptModuleTest, AttentionSeesOnlyThePast) {
  const GptWeights weights =
      AssembleGptWeights(public_model_.config, public_model_.tensors, torch::kFloat);
  const at::NoGradGuard no_grad;
  at::Tensor tokens = torch::randint(0, 53, {1, 10}, torch::kLong);
  const at::Tensor before = HiddenStates(weights, {}, tokens).clone();
  tokens.index_put_({0, 6}, (tokens.index({0, 6}) + 1) % 53);
  const at::Tensor after = HiddenStates(weights, {}, tokens);
  EXPECT_TRUE(at::equal(before.narrow(0, 0, 6), after.narrow(0, 0, 6)));
  EXPECT_FALSE(at::allclose(before[6], after[6]));
}

TEST(FusedOperationsTest, GeluEqualsTorch) {
  at::Tensor x = (torch::randn({1000}) * 4).requires_grad_();
  const at::Tensor expected = at::gelu(x, "tanh");
  const at::Tensor expected_grad = torch::autograd::grad({expected.sum()}, {x})[0];
  const at::Tensor y = Gelu(x);
  EXPECT_TRUE(at::allclose(y, expected, 1e-5, 1e-6));
  EXPECT_TRUE(at::allclose(torch::autograd::grad({y.sum()}, {x})[0], expected_grad, 1e-5, 1e-5));
}

// By one rounding: a step of bfloat16 is 2^-8 of the number.
TEST(FusedOperationsTest, Bfloat16IsFloatRoundedAtTheEnds) {
  at::Tensor x = (torch::randn({3000}) * 4).to(torch::kBFloat16).requires_grad_();
  at::Tensor wide = x.detach().to(torch::kFloat).requires_grad_();
  const at::Tensor y = Gelu(x);
  const at::Tensor expected = Gelu(wide);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_TRUE(at::allclose(y.to(torch::kFloat), expected, 0x1p-8, 0));
  const at::Tensor grad = torch::autograd::grad({y.to(torch::kFloat).sum()}, {x})[0];
  EXPECT_TRUE(at::allclose(grad.to(torch::kFloat),
                           torch::autograd::grad({expected.sum()}, {wide})[0], 0x1p-8, 0));

  const at::Tensor hidden = torch::randn({300, 8}).to(torch::kBFloat16);
  const at::Tensor unembedding = torch::randn({37, 8}).to(torch::kBFloat16);
  const at::Tensor targets = torch::randint(0, 37, {300}, torch::kLong);
  const at::Tensor weights = torch::ones({300});
  const CrossEntropy loss = UnembeddingCrossEntropy(hidden, unembedding, targets, weights);
  const CrossEntropy exact = UnembeddingCrossEntropy(
      hidden.to(torch::kFloat), unembedding.to(torch::kFloat), targets, weights);
  // Only the logits, of some ten at most, are rounded before the loss.
  EXPECT_TRUE(at::allclose(loss.row_losses, exact.row_losses, 0, .1));
  EXPECT_NEAR(loss.total.item<double>(), exact.total.item<double>(), 2);
}

TEST(FusedOperationsTest, CrossEntropyEqualsTorch) {
  const std::int64_t rows = 300;
  at::Tensor hidden = torch::randn({rows, 8}).requires_grad_();
  at::Tensor unembedding = torch::randn({37, 8}).requires_grad_();
  at::Tensor targets = torch::randint(0, 37, {rows}, torch::kLong);
  targets.narrow(0, 40, 20).fill_(-1);
  at::Tensor weights = torch::rand({rows});
  weights.narrow(0, 40, 20).zero_();
  const at::Tensor log_softmax = at::log_softmax(at::mm(hidden, unembedding.t()), 1);
  const at::Tensor picked =
      -log_softmax.gather(1, targets.clamp_min(0).unsqueeze(1)).squeeze(1) * weights;
  const auto expected = torch::autograd::grad({picked.sum() * 3}, {hidden, unembedding});
  const CrossEntropy loss = UnembeddingCrossEntropy(hidden, unembedding, targets, weights);
  const auto actual = torch::autograd::grad({loss.total * 3}, {hidden, unembedding});
  EXPECT_NEAR(loss.total.item<double>(), picked.sum().item<double>(), 1e-3);
  EXPECT_TRUE(at::allclose(actual[0], expected[0], 1e-4, 1e-5));
  EXPECT_TRUE(at::allclose(actual[1], expected[1], 1e-4, 1e-4));
}

}  // namespace gpt_module_test
}  // namespace submix::train

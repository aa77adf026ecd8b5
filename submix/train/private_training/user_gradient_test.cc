#include "submix/train/private_training/user_gradient.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"

namespace submix::train {
namespace user_gradient_test {

using Blocks = std::vector<std::vector<base::TokenId>>;

// GPT-2 in double, one sequence at a time, in libtorch's own operations: shares no code with ours.
class ReferenceModel {
 public:
  // In the order of WeightVectors.
  ReferenceModel(const model::DecoderConfig& config, const std::vector<at::Tensor>& tensors)
      : config_(config), tensors_(tensors) {}

  at::Tensor MeanLoss(const Blocks& blocks) const {
    at::Tensor total = torch::zeros({}, torch::kDouble);
    std::int64_t count = 0;
    for (const std::vector<base::TokenId>& block : blocks) {
      std::vector<std::int64_t> ids;
      for (const corpus::StreamToken token : block) ids.push_back(corpus::IdOf(token));
      const std::int64_t positions = std::ssize(block) - 1;
      const at::Tensor log_pmf =
          at::log_softmax(Logits(torch::tensor(ids).narrow(0, 0, positions)), 1);
      for (std::int64_t i = 0; i < positions; ++i) {
        const auto next = static_cast<std::size_t>(i) + 1;
        if (!corpus::IsCounted(block[next])) continue;
        total = total - log_pmf[i][ids[next]];
        ++count;
      }
    }
    return total / count;
  }

 private:
  at::Tensor Norm(const at::Tensor& x, std::size_t first) const {
    return at::layer_norm(x, {x.size(1)}, tensors_[first], tensors_[first + 1],
                          config_.norm_epsilon);
  }
  at::Tensor Linear(const at::Tensor& x, std::size_t first) const {
    return at::matmul(x, tensors_[first]) + tensors_[first + 1];
  }
  at::Tensor Attend(const at::Tensor& qkv) const {
    const std::int64_t positions = qkv.size(0);
    const std::int64_t heads = config_.attention_heads;
    const auto part = [&](std::int64_t index) {
      return qkv.narrow(1, index * config_.width, config_.width)
          .view({positions, heads, config_.width / heads})
          .transpose(0, 1);
    };
    const double scale = std::sqrt(static_cast<double>(config_.width / heads));
    const at::Tensor future = torch::ones({positions, positions}, torch::kBool).triu(1);
    const at::Tensor scores = (at::matmul(part(0), part(1).transpose(1, 2)) / scale)
                                  .masked_fill(future, -std::numeric_limits<double>::infinity());
    return at::matmul(at::softmax(scores, 2), part(2))
        .transpose(0, 1)
        .reshape({positions, config_.width});
  }
  at::Tensor Logits(const at::Tensor& ids) const {
    at::Tensor x = tensors_[0].index_select(0, ids) + tensors_[1].narrow(0, 0, ids.size(0));
    std::size_t next = 2;
    for (int layer = 0; layer < config_.layers; ++layer, next += 12) {
      x = x + Linear(Attend(Linear(Norm(x, next), next + 2)), next + 4);
      x = x + Linear(at::gelu(Linear(Norm(x, next + 6), next + 8), "tanh"), next + 10);
    }
    return at::matmul(Norm(x, next), tensors_[0].t());
  }

  const model::DecoderConfig config_;
  const std::vector<at::Tensor> tensors_;
};

double Norm(const std::vector<double>& values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

class UserGradientTest : public ::testing::Test {
 protected:
  UserGradientTest() {
    model::WriteTinyModel(directory_.path(), model::TinyConfig(), 1);
    auto model = LoadPublicModel(directory_.path(), Precision::kFloat32);
    SUBMIX_EXPECT_OK(model);
    public_model_ = *std::move(model);
  }

  std::vector<base::TokenId> Tokens(std::size_t count, std::uint64_t seed) const {
    return model::RandomTokens(count, public_model_.config.vocab_size, seed);
  }
  // One short block; many blocks of different lengths; the least there can be; the same token over
  // and over, which the embedding sees at both ends; a conversation, of which some tokens count.
  std::vector<Blocks> Users() const {
    return {{Tokens(5, 1)},
            {Tokens(9, 2), Tokens(9, 3), Tokens(9, 4), Tokens(9, 5), Tokens(3, 6)},
            {Tokens(2, 7)},
            {std::vector<base::TokenId>(9, 17)},
            {Tokens(25, 8), Tokens(2, 9)},
            {Answers(25, 10), Answers(9, 11), Answers(5, 12), Answers(4, 13)}};
  }
  // Every third token counts, the last of all among them.
  std::vector<corpus::StreamToken> Answers(std::size_t count, std::uint64_t seed) const {
    std::vector<corpus::StreamToken> block = Tokens(count, seed);
    for (std::size_t i = 0; i < count; ++i) {
      if ((count - 1 - i) % 3 != 0) block[i] = corpus::Uncounted(block[i]);
    }
    return block;
  }

  std::vector<at::Tensor> InDouble() const {
    std::vector<at::Tensor> tensors;
    for (const at::Tensor& tensor : public_model_.tensors) {
      tensors.push_back(tensor.to(torch::kDouble));
    }
    return tensors;
  }

  // The gradients of `loss` in `leaves`, one after another.
  static std::vector<double> Flat(const at::Tensor& loss, const std::vector<at::Tensor>& leaves) {
    std::vector<double> flat;
    for (const at::Tensor& gradient :
         torch::autograd::grad({loss}, leaves, {}, /*retain_graph=*/true)) {
      const at::Tensor values = gradient.contiguous();
      flat.insert(flat.end(), values.data_ptr<double>(),
                  values.data_ptr<double>() + values.numel());
    }
    return flat;
  }

  // What the private step must sum: each user's gradient alone, clipped, in double.
  static void ExpectClippedSum(MemberModels& models, const std::vector<Blocks>& users,
                               const std::vector<std::vector<double>>& gradients) {
    std::vector<double> norms;
    for (const auto& gradient : gradients) norms.push_back(Norm(gradient));
    std::vector<double> sorted = norms;
    std::ranges::sort(sorted);
    const double clip =
        (sorted[1] + sorted[2]) / 2;  // two users are kept whole, the others clipped
    std::vector<double> expected(gradients[0].size());
    for (std::size_t user = 0; user < users.size(); ++user) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += gradients[user][i] * std::min(1.0, clip / norms[user]);
      }
    }
    ClippedSum sum(expected.size(), clip);
    UserGradient gradient(models, /*rows_at_a_time=*/2);
    for (const Blocks& user : users) sum.Add(gradient.Compute(user));
    const auto ledger = ledger::MakeMemoryLedger(1, accounting::FixedNats::RoundDown(1));
    const accounting::FixedNats charge = accounting::FixedNats::RoundUp(0.5);
    const ledger::ChargeRequest request = {.release_id = {1, 1}, .charges = {&charge, 1}};
    auto receipts = ledger->Charge({&request, 1});
    SUBMIX_ASSERT_OK(receipts);
    const auto random = base::MakeSeededRandomSource(1);
    std::vector<float> actual(expected.size());
    sum.Release({.weight = clip}, /*noise_multiplier=*/0, std::move(receipts->front()), *random,
                actual);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i] / clip, 1e-5) << i;
    }
  }

  base::TemporaryDirectory directory_;
  PublicModel public_model_;
};

TEST_F(UserGradientTest, ClippedSumsOfAllWeightsEqualBruteForce) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, std::nullopt, 1, Precision::kFloat32));
  models->Initialize(0, 0);
  std::vector<at::Tensor> leaves = InDouble();
  for (at::Tensor& leaf : leaves) leaf.set_requires_grad(true);
  std::vector<std::vector<double>> gradients;
  for (const Blocks& user : Users()) {
    gradients.push_back(Flat(ReferenceModel(public_model_.config, leaves).MeanLoss(user), leaves));
  }
  ExpectClippedSum(*models, Users(), gradients);
}

TEST_F(UserGradientTest, ClippedSumsOfAdaptersEqualBruteForce) {
  model::LoraConfig config;
  config.rank = 2;
  config.lora_alpha = 6;
  config.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, config, 1, Precision::kFloat32));
  models->Initialize(0, 1);
  FlatParameters& parameters = models->parameters();
  std::vector<at::Tensor> tensors = InDouble();
  std::vector<at::Tensor> leaves;
  const ParameterVectors names = WeightVectors(public_model_.config);
  for (std::size_t i = 0; i < parameters.vectors().size(); ++i) {
    // B starts at zero, where A has no gradient: move away from it.
    float sign = 0.1f;
    if (i % 2 == 1) {
      for (float& value : parameters.values(0, i)) value = sign = -sign;
    }
    const std::span<float> values = parameters.values(0, i);
    leaves.push_back(torch::from_blob(values.data(), parameters.vectors()[i].shape)
                         .to(torch::kDouble)
                         .set_requires_grad(true));
    if (i % 2 == 0) continue;
    const std::string& name = parameters.vectors()[i].name;  // h.0.attn.c_attn.lora_B
    const std::string weight = name.substr(0, name.rfind('.')) + ".weight";
    const auto found = std::ranges::find(names, weight, &ParameterVector::name);
    ASSERT_NE(found, names.end()) << weight;
    at::Tensor& adapted = tensors[static_cast<std::size_t>(found - names.begin())];
    adapted = adapted + 3 * at::matmul(leaves[i], leaves[i - 1]).t();
  }
  std::vector<std::vector<double>> gradients;
  for (const Blocks& user : Users()) {
    gradients.push_back(Flat(ReferenceModel(public_model_.config, tensors).MeanLoss(user), leaves));
  }
  ExpectClippedSum(*models, Users(), gradients);
}

TEST_F(UserGradientTest, DoesNotDependOnHowManyBlocksGoThroughAtATime) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, std::nullopt, 1, Precision::kFloat32));
  models->Initialize(0, 0);
  const Blocks user = Users()[1];
  UserGradient whole(*models, 100);
  const std::span<const float> all_at_once = whole.Compute(user);
  const std::vector<float> expected(all_at_once.begin(), all_at_once.end());
  for (const int rows : {1, 2, 4}) {
    UserGradient gradient(*models, rows);
    const std::span<const float> actual = gradient.Compute(user);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 2e-6);
  }
}

TEST_F(UserGradientTest, AUsersBitsDoNotDependOnWhoCameBefore) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(public_model_, std::nullopt, 1, Precision::kFloat32));
  models->Initialize(0, 0);
  UserGradient gradient(*models, 2);
  const std::span<const float> alone = gradient.Compute(Users()[4]);
  const std::vector<float> expected(alone.begin(), alone.end());
  for (const Blocks& other : Users()) gradient.Compute(other);
  const std::span<const float> after = gradient.Compute(Users()[4]);
  EXPECT_TRUE(std::ranges::equal(after, expected));
}

}  // namespace user_gradient_test
}  // namespace submix::train

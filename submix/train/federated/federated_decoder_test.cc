#include "submix/train/federated/federated_decoder.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/federated/client_updates.h"
#include "submix/train/federated/federated_training.h"
#include "submix/train/fine_tuning/testing/thread_ranks.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/recipes/testing/byte_model.h"

namespace submix::train {
namespace federated_decoder_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::HasSubstr;

using Streams = std::vector<std::vector<TokenId>>;

model::LoraConfig SmallAdapter() {
  model::LoraConfig lora;
  lora.rank = 2;
  return lora;
}

class FederatedDecoderTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    SUBMIX_ASSERT_OK(WriteByteModel(File("public")));
    options_.public_directory = File("public");
    if (!GetParam()) options_.lora = SmallAdapter();
    SUBMIX_ASSERT_OK_AND_ASSIGN(model_, FederatedDecoder::Load(options_));
    SUBMIX_ASSERT_OK_AND_ASSIGN(start_, model_->Start({}, /*seed=*/3));
    ASSERT_EQ(start_.size(), model_->vectors().back().end);
  }

  std::string File(const std::string& name) const { return directory_.File(name); }

  static std::vector<TokenId> Text(std::size_t count, std::uint64_t seed) {
    return model::RandomTokens(count, kByteVocabSize, seed);
  }

  double MeanLoss(std::span<const float> parameters, const Streams& streams) const {
    const auto metrics = model_->Evaluate(parameters, streams, /*threads=*/2);
    SUBMIX_EXPECT_OK(metrics);
    return metrics->loss;
  }

  // Of the pass over a text: the gradient of its mean loss.
  std::vector<float> GradientOf(ClientModel& client, std::span<const float> parameters,
                                std::span<const TokenId> tokens) const {
    std::vector<float> sum(parameters.size());
    std::vector<float> gradient(parameters.size());
    client.SetParameters(parameters);
    client.Begin(tokens);
    const auto counted = std::ranges::count_if(tokens, corpus::IsCounted);
    std::int64_t targets = 0;
    while (const std::int64_t count = client.NextBatch()) {
      targets += count;
      client.Gradient(1.0f / static_cast<float>(counted), gradient);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
    }
    EXPECT_EQ(targets, counted);
    return sum;
  }

  base::TemporaryDirectory directory_;
  FederatedDecoderOptions options_;
  std::unique_ptr<FederatedDecoder> model_;
  std::vector<float> start_;
};

// The decoder's way of scoring is another: with a cache of keys and values.
double LossByPredictor(const std::string& public_directory, const std::vector<TokenId>& tokens) {
  TorchPredictorOptions options;
  options.threads = 1;
  options.public_directory = public_directory;
  const auto predictor = TorchPredictor::Load(options);
  SUBMIX_EXPECT_OK(predictor);
  std::vector<TokenId> read = {kByteEndOfText};
  read.insert(read.end(), tokens.begin(), tokens.end());
  double loss = 0;
  SUBMIX_EXPECT_OK(
      (*predictor)->Score(read, 1, [&](std::size_t position, std::span<const float> logits) {
        double sum = 0;
        for (std::size_t id = 0; id < kByteVocabSize; ++id) sum += std::exp(logits[id]);
        loss += std::log(sum) - logits[static_cast<std::size_t>(read[position])];
        return base::OkStatus();
      }));
  return loss / static_cast<double>(tokens.size());
}

TEST_P(FederatedDecoderTest, BeginsAsThePublicModel) {
  const std::vector<TokenId> tokens = Text(20, 1);
  EXPECT_NEAR(MeanLoss(start_, {tokens}), LossByPredictor(File("public"), tokens), 1e-5);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto metrics, model_->Evaluate(start_, Streams{tokens}, 1));
  EXPECT_EQ(metrics.tokens, 20);
  EXPECT_LE(metrics.accuracy_top1, metrics.accuracy_top3);
  EXPECT_LE(metrics.accuracy_top3, metrics.accuracy_top5);
  EXPECT_THAT(model_->Evaluate(start_, Streams{}, 1),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no held-out")));
}

// Central differences of the evaluated loss along the gradient, away from the start, where the
// factors B are zero and half of all derivatives with them.
TEST_P(FederatedDecoderTest, TheGradientIsThatOfTheMeanLoss) {
  // Of a conversation some count.
  std::vector<corpus::StreamToken> tokens = Text(20, 2);
  for (const std::size_t i : {0, 1, 2, 9, 10, 19}) tokens[i] = corpus::Uncounted(tokens[i]);
  const auto client = model_->MakeClient(/*rows=*/4, /*positions=*/24);  // one block, as evaluated
  std::vector<float> at = start_;
  const std::vector<float> first = GradientOf(*client, start_, tokens);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] -= 0.05f * first[i];
  const std::vector<float> gradient = GradientOf(*client, at, tokens);
  double squares = 0;
  for (const float value : gradient) squares += static_cast<double>(value) * value;
  const auto along = [&](double step) {
    std::vector<float> moved = at;
    for (std::size_t i = 0; i < at.size(); ++i) {
      moved[i] += static_cast<float>(step / std::sqrt(squares)) * gradient[i];
    }
    return MeanLoss(moved, {tokens});
  };
  constexpr double kStep = 5e-3;
  EXPECT_GT(squares, 1e-3);
  EXPECT_NEAR((along(kStep) - along(-kStep)) / (2 * kStep), std::sqrt(squares),
              0.01 * std::sqrt(squares));
}

TEST_P(FederatedDecoderTest, CutsATextIntoBlocksThatPredictEveryTokenOnce) {
  const std::vector<TokenId> tokens = Text(23, 4);
  const auto client = model_->MakeClient(/*rows=*/2, /*positions=*/5);
  client->Begin(tokens);
  std::vector<std::int64_t> counts;
  while (const std::int64_t count = client->NextBatch()) counts.push_back(count);
  EXPECT_THAT(counts, ::testing::ElementsAre(10, 10, 3));
  // A block reads the token before it and nothing earlier: the sum of single blocks is the pass.
  const std::vector<float> whole = GradientOf(*client, start_, std::span(tokens).first(10));
  const auto single = model_->MakeClient(/*rows=*/1, /*positions=*/5);
  const std::vector<float> by_row = GradientOf(*single, start_, std::span(tokens).first(10));
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(whole[i], by_row[i], 1e-5);
  // What predicts nothing that counts is no batch, and does not end the pass.
  std::vector<corpus::StreamToken> talk = tokens;
  std::ranges::transform(talk.begin(), talk.begin() + 12, talk.begin(), corpus::Uncounted);
  std::ranges::transform(talk.begin() + 15, talk.begin() + 20, talk.begin() + 15,
                         corpus::Uncounted);
  client->Begin(talk);
  EXPECT_EQ(client->NextBatch(), 3 + 3);
  EXPECT_EQ(client->NextBatch(), 0);
  // Nothing of an earlier user is left.
  (void)GradientOf(*client, start_, Text(40, 5));
  EXPECT_EQ(GradientOf(*client, start_, std::span(tokens).first(10)), whole);
}

class FederatedDecoderTrainingTest : public FederatedDecoderTest {
 protected:
  void SetUp() override {
    FederatedDecoderTest::SetUp();
    for (std::uint64_t user = 0; user < 12; ++user) {
      users_.emplace_back();
      for (std::size_t i = 0; i < 20 + user % 3; ++i) {
        users_.back().push_back(static_cast<TokenId>(97 + (i * i + user % 2) % 5));
      }
    }
    training_.local = {.batch_size = 2, .unroll = 8, .learning_rate = 0.2};
    training_.clipping = {.norm = 0.5};
    training_.estimator = {false, 0.5, 12};
    training_.noise_multiplier = 1;
    training_.full_weight_tokens = 20;
    training_.rounds = 2;
    training_.delta = 1e-3;
    training_.threads = 1;
  }

  base::StatusOr<FederatedResult> Train(const std::string& directory, Ranks* ranks = nullptr) {
    training_.directory = File(directory);
    training_.ranks = ranks;
    const FederatedData data = {model_.get(), start_, users_, users_, "test"};
    const auto random = base::MakeSeededRandomSource(1);
    return TrainFederated(training_, data, *random, base::ProgressStyle::kSilent,
                          [](const RoundReport&) { return base::OkStatus(); });
  }

  Streams users_;
  FederatedOptions training_;
};

TEST_P(FederatedDecoderTrainingTest, GivesTheSameBitsOnAnyNumberOfThreadsAndRanks) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult alone, Train("alone"));
  EXPECT_NE(alone.parameters, start_);
  training_.threads = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult threads, Train("threads"));
  EXPECT_EQ(threads.parameters, alone.parameters);
  const auto root = [&](Ranks& ranks) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult spread, Train("ranks", &ranks));
    EXPECT_EQ(spread.parameters, alone.parameters);
  };
  RunOnThreadRanks(2, root, [&](Ranks& ranks) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto same, FederatedDecoder::Load(options_));
    SUBMIX_EXPECT_OK(ServeClientUpdates(ranks, *same, /*threads=*/1));
  });
}

TEST_P(FederatedDecoderTrainingTest, LearnsAndWhatItReleasesIsTheTrainedModelWithItsCost) {
  training_.noise_multiplier = 0;
  training_.rounds = 15;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train("run"));
  EXPECT_LT(MeanLoss(result.parameters, users_), MeanLoss(start_, users_) - 0.3);
  // As if there had been noise: what is written is what is said.
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const std::string released,
      model_->Save(result.parameters, {{"dp-fedavg", true, 0.5, 1, 15}, 7, 1e-3},
                   training_.directory));
  EXPECT_EQ(released, training_.directory + "/released");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(released));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, released));
  EXPECT_NEAR(LossByPredictor(released + "/public", users_[0]),
              MeanLoss(result.parameters, {users_[0]}), 1e-4);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, ensemble::LoadTrainingCost(released + "/public"));
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->mechanism, "dp-fedavg");
  EXPECT_EQ(cost->steps, 15);
  // It is nobody's public model without saying so.
  options_.public_directory = released + "/public";
  EXPECT_THAT(FederatedDecoder::Load(options_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("trained on private text")));
}

TEST_P(FederatedDecoderTrainingTest, GoesOnOnlyWithTheSameModel) {
  SUBMIX_ASSERT_OK(Train("run"));
  if (GetParam()) {
    options_.lora = SmallAdapter();
  } else {
    options_.lora->lora_alpha = 8;
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(model_, FederatedDecoder::Load(options_));
  EXPECT_THAT(Train("run"), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
}

const auto kName = [](const auto& info) { return info.param ? "Full" : "Lora"; };
INSTANTIATE_TEST_SUITE_P(Parameters, FederatedDecoderTest, ::testing::Bool(), kName);
INSTANTIATE_TEST_SUITE_P(Parameters, FederatedDecoderTrainingTest, ::testing::Bool(), kName);

}  // namespace federated_decoder_test
}  // namespace submix::train

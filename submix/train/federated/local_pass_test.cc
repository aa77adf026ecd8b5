#include "submix/train/federated/local_pass.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "submix/train/federated/federated_lstm.h"
#include "submix/train/federated/word_stretches.h"

namespace submix::train {
namespace local_pass_test {

using base::TokenId;

constexpr WordLstmShape kShape = {.vocab_size = 15, .width = 4, .units = 6};
const FederatedLstm kModel(kShape);
constexpr LocalTraining kTraining = {.batch_size = 2, .unroll = 3, .learning_rate = 0.5};

std::vector<TokenId> Words(int count) {
  std::vector<TokenId> words;
  for (int i = 0; i < count; ++i) words.push_back(1 + (5 * i + i / 3) % 14);
  return words;
}

double Norm(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

// Algorithm 1 as it is printed, on plain vectors: theta <- theta - rate * gradient, then
// theta <- start + clip(theta - start).
std::vector<float> FedAvgByTheBook(const std::vector<float>& start, std::span<const TokenId> words,
                                   const LocalTraining& training, double clip_norm) {
  WordLstm lstm(kShape, training.batch_size, training.unroll);
  std::vector<float> theta = start;
  std::vector<float> gradient(start.size());
  const WordStretches stretches(words, training.batch_size, training.unroll);
  for (int epoch = 0; epoch < training.epochs; ++epoch) {
    lstm.ResetState();
    WordBatch batch;
    for (std::size_t b = 0; stretches.Fill(b, batch); ++b) {
      lstm.SetParameters(theta);
      const auto targets = std::ranges::count_if(batch.targets, [](TokenId t) { return t >= 0; });
      lstm.Gradient(batch, 1.0f / static_cast<float>(targets), gradient);
      std::vector<float> update(start.size());
      for (std::size_t i = 0; i < start.size(); ++i) {
        theta[i] -= static_cast<float>(training.learning_rate) * gradient[i];
        update[i] = theta[i] - start[i];
      }
      const double factor = std::min(1.0, clip_norm / Norm(update));
      for (std::size_t i = 0; i < start.size(); ++i) {
        theta[i] = start[i] + static_cast<float>(factor) * update[i];
      }
    }
  }
  std::vector<float> update(start.size());
  for (std::size_t i = 0; i < start.size(); ++i) update[i] = theta[i] - start[i];
  return update;
}

TEST(LocalPassTest, FedAvgIsAlgorithm1) {
  const std::vector<float> start = InitialWordLstm(kShape, 1);
  const std::vector<TokenId> words = Words(17);
  LocalTraining training = kTraining;
  training.epochs = 2;
  LocalPass pass(kModel, training);
  for (const double clip_norm : {1e9, 0.3}) {  // never and always clipped
    const auto update = pass.Update(start, words, {.norm = clip_norm});
    const std::vector<float> expected = FedAvgByTheBook(start, words, training, clip_norm);
    EXPECT_GT(Norm(expected), 0.29);
    for (std::size_t i = 0; i < update.size(); ++i) ASSERT_NEAR(update[i], expected[i], 2e-5);
  }
}

// Projection after every step is another walk than clipping at the end.
TEST(LocalPassTest, FedAvgProjectsAfterEveryStepNotOnlyAtTheEnd) {
  const std::vector<float> start = InitialWordLstm(kShape, 1);
  const std::vector<TokenId> words = Words(40);
  LocalPass pass(kModel, kTraining);
  const auto projected = pass.Update(start, words, {.norm = 0.2});
  const std::vector<float> update(projected.begin(), projected.end());
  EXPECT_LE(Norm(update), 0.2);
  const auto free = pass.Update(start, words, {});
  const double factor = 0.2 / Norm(free);
  double difference = 0;
  for (std::size_t i = 0; i < update.size(); ++i) {
    difference += std::pow(update[i] - factor * free[i], 2);
  }
  EXPECT_GT(std::sqrt(difference), 0.01);
}

TEST(LocalPassTest, FedSgdIsOneStepOfTheWholeTextsMeanLoss) {
  const std::vector<float> start = InitialWordLstm(kShape, 2);
  const std::vector<TokenId> words = Words(12);
  LocalTraining training = kTraining;
  training.algorithm = FederatedAlgorithm::kFedSgd;
  training.batch_size = 3;
  training.unroll = 4;  // one batch holds everything
  LocalPass pass(kModel, training);
  const auto update = pass.Update(start, words, {});
  WordLstm lstm(kShape, 3, 4);
  lstm.SetParameters(start);
  WordBatch batch;
  ASSERT_TRUE(WordStretches(words, 3, 4).Fill(0, batch));
  std::vector<float> gradient(start.size());
  lstm.Gradient(batch, 1.0f / 12, gradient);
  for (std::size_t i = 0; i < start.size(); ++i) {
    ASSERT_NEAR(update[i], -0.5f * gradient[i], 1e-6);
  }
  // Several batches add up to one gradient at the same model.
  training.unroll = 2;
  LocalPass in_two(kModel, training);
  const WordStretches halves(words, 3, 2);
  std::vector<float> sum(start.size());
  lstm.ResetState();
  for (std::size_t b = 0; halves.Fill(b, batch); ++b) {
    lstm.Gradient(batch, 1.0f / 12, gradient);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  const auto of_two = in_two.Update(start, words, {});
  for (std::size_t i = 0; i < start.size(); ++i) ASSERT_NEAR(of_two[i], -0.5f * sum[i], 1e-6);
  EXPECT_LE(Norm(in_two.Update(start, words, {.norm = 1e-3})), 1e-3);
}

TEST(LocalPassTest, PerLayerClippingBoundsEveryVector) {
  const std::vector<float> start = InitialWordLstm(kShape, 3);
  LocalPass pass(kModel, kTraining);
  const auto update = pass.Update(start, Words(30), {.norm = 0.1, .per_layer = true});
  for (const ParameterVector& vector : WordLstmVectors(kShape)) {
    EXPECT_LE(Norm(update.subspan(vector.begin, vector.size())), 0.1 / std::sqrt(11.0));
  }
}

TEST(LocalPassTest, DependsOnNothingThatWasTrainedBefore) {
  const std::vector<float> start = InitialWordLstm(kShape, 4);
  LocalPass pass(kModel, kTraining);
  const auto fresh = pass.Update(start, Words(20), {.norm = 1});
  const std::vector<float> expected(fresh.begin(), fresh.end());
  pass.Update(InitialWordLstm(kShape, 5), Words(37), {.norm = 2});
  const auto again = pass.Update(start, Words(20), {.norm = 1});
  EXPECT_TRUE(std::ranges::equal(again, expected));
}

TEST(LocalPassTest, AUserWhoseNumbersOverflowContributesNothing) {
  std::vector<float> start = InitialWordLstm(kShape, 6);
  start[start.size() - 1] = NAN;
  LocalPass pass(kModel, kTraining);
  const auto update = pass.Update(start, Words(20), {.norm = 1});
  EXPECT_EQ(Norm(update), 0);
}

}  // namespace local_pass_test
}  // namespace submix::train

#include "submix/train/federated/word_metrics.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/train/federated/word_stretches.h"
#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {
namespace word_metrics_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr TokenId kEnd = WordVocabulary::kEnd;
constexpr TokenId kUnknown = WordVocabulary::kUnknown;

TEST(WordStretchesTest, CutsAStreamIntoRowsThatKnowWhatCameBefore) {
  const std::vector<TokenId> targets = {3, 4, kEnd, 5, 6};
  const WordStretches stretches(targets, /*rows=*/2, /*unroll=*/2);
  ASSERT_EQ(stretches.num_batches(), 2u);
  WordBatch batch;
  ASSERT_TRUE(stretches.Fill(0, batch));  // stretches {3, 4, kEnd} and {5, 6}
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.steps, 2);
  EXPECT_THAT(batch.inputs, ElementsAre(0, 0, 3, 5));
  EXPECT_THAT(batch.targets, ElementsAre(3, 5, 4, 6));
  ASSERT_TRUE(stretches.Fill(1, batch));
  EXPECT_EQ(batch.steps, 1);
  EXPECT_THAT(batch.inputs, ElementsAre(4, 0));
  EXPECT_THAT(batch.targets, ElementsAre(kEnd, -1));
  EXPECT_FALSE(stretches.Fill(2, batch));
}

TEST(WordStretchesTest, ReadsTheWordBeforeAtTheStartOfARow) {
  const std::vector<TokenId> targets = {3, 4, 5, 6};
  WordBatch batch;
  ASSERT_TRUE(WordStretches(targets, 2, 10).Fill(0, batch));
  EXPECT_THAT(batch.inputs, ElementsAre(0, 4, 3, 5));
}

TEST(WordStretchesTest, ThePapersUserIsTwentyBatchesOfEightyWords) {
  const std::vector<TokenId> targets(1600, 3);
  const WordStretches stretches(targets, 8, 10);
  EXPECT_EQ(stretches.num_batches(), 20u);
  WordBatch batch;
  ASSERT_TRUE(stretches.Fill(19, batch));
  EXPECT_EQ(std::ranges::count(batch.targets, 3), 80);
}

// A model that always predicts the same: all kernels are zero, so that only the projection's bias
// reaches the logits, which fall with the id from kUnknown on.
class WordMetricsTest : public ::testing::Test {
 protected:
  static constexpr WordLstmShape kShape = {.vocab_size = 9, .width = 2, .units = 4};

  void SetUp() override {
    const ParameterVectors vectors = WordLstmVectors(kShape);
    parameters_.assign(vectors.back().end, 0.0f);
    for (int id = 0; id < kShape.vocab_size; ++id) {
      // Angles from the bias's direction: 0 for kUnknown, more behind it, most for the first two.
      const double angle = id >= kUnknown ? 0.3 * (id - kUnknown) : 3.0 - 0.1 * id;
      parameters_[2 * id] = static_cast<float>(std::cos(angle));
      parameters_[2 * id + 1] = static_cast<float>(std::sin(angle));
    }
    parameters_[vectors.back().begin] = 2;  // the bias
    double sum = 0;
    for (int id = 0; id < kShape.vocab_size; ++id) sum += std::exp(2 * parameters_[2 * id]);
    log_sum_ = std::log(sum);
  }

  double LossOf(TokenId id) const { return log_sum_ - 2 * parameters_[2 * id]; }

  std::vector<float> parameters_;
  double log_sum_ = 0;
};

TEST_F(WordMetricsTest, CountsHitsAmongTheFirstPredictionsAndNeverTheUnknownWord) {
  // The order of predictions: kUnknown, 3, 4, 5, 6, 7, 8, kEnd.
  const std::vector<std::vector<TokenId>> streams = {{kUnknown, 3, 4}, {5, 6, kEnd, 8, 3}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PredictionMetrics metrics,
                              EvaluateWordLstm(kShape, parameters_, streams, 1));
  EXPECT_EQ(metrics.tokens, 8);
  EXPECT_DOUBLE_EQ(metrics.accuracy_top1, 0);  // the only first prediction was kUnknown
  EXPECT_DOUBLE_EQ(metrics.accuracy_top3, 3.0 / 8);
  EXPECT_DOUBLE_EQ(metrics.accuracy_top5, 5.0 / 8);
  const double loss = (LossOf(kUnknown) + 2 * LossOf(3) + LossOf(4) + LossOf(5) + LossOf(6) +
                       LossOf(kEnd) + LossOf(8)) /
                      8;
  EXPECT_NEAR(metrics.loss, loss, 1e-6);
  EXPECT_NEAR(metrics.perplexity, std::exp(loss), 1e-5);
}

TEST_F(WordMetricsTest, DoesNotDependOnThreads) {
  std::vector<std::vector<TokenId>> streams;
  for (int i = 0; i < 70; ++i) {
    streams.emplace_back();
    for (int j = 0; j <= i % 13; ++j) streams.back().push_back(1 + (3 * i + 5 * j) % 8);
  }
  const std::vector<float> parameters = InitialWordLstm(kShape, 3);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto one, EvaluateWordLstm(kShape, parameters, streams, 1));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto three, EvaluateWordLstm(kShape, parameters, streams, 3));
  EXPECT_EQ(one.loss, three.loss);
  EXPECT_EQ(one.accuracy_top3, three.accuracy_top3);
  EXPECT_EQ(one.tokens, three.tokens);
}

TEST_F(WordMetricsTest, HeadWordsAreCountedAmongTheFirstPredictions) {
  // Eight ids can be predicted, so all are among the first ten: the head's 1 and 4 words always.
  const std::vector<std::vector<TokenId>> streams = {{3, 4}, {5, kEnd, 8}};
  const std::vector<int> heads = {1, 4};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all,
                              CountHeadWords(kShape, parameters_, streams, heads, 2));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].head, 1);
  EXPECT_EQ(all[0].counts[1], 5);
  EXPECT_EQ(all[1].counts[4], 5);
}

TEST(HeadWordsTest, RareWordsPushTheHeadOut) {
  // Logits rise with the id: the first ten predictions are the last ten of 20 words.
  const WordLstmShape shape = {.vocab_size = 23, .width = 2, .units = 2};
  const ParameterVectors vectors = WordLstmVectors(shape);
  std::vector<float> parameters(vectors.back().end, 0.0f);
  for (int id = 0; id < shape.vocab_size; ++id) {
    const double angle = 0.1 * (shape.vocab_size - id);
    parameters[2 * id] = static_cast<float>(std::cos(angle));
    parameters[2 * id + 1] = static_cast<float>(std::sin(angle));
  }
  parameters[vectors.back().begin] = 1;
  const std::vector<std::vector<TokenId>> streams = {{3, 4, 5}};
  const std::vector<int> heads = {10, 13, 20};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, CountHeadWords(shape, parameters, streams, heads, 1));
  EXPECT_EQ(all[0].counts[0], 3);
  EXPECT_EQ(all[1].counts[3], 3);
  EXPECT_EQ(all[2].counts[10], 3);
}

TEST_F(WordMetricsTest, RefusesNoText) {
  EXPECT_THAT(EvaluateWordLstm(kShape, parameters_, {}, 2),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no held-out words")));
}

}  // namespace word_metrics_test
}  // namespace submix::train

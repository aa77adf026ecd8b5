#include "submix/train/federated/word_lstm.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "submix/train/federated/word_vocabulary.h"

namespace submix::train {
namespace word_lstm_test {

using base::TokenId;

constexpr WordLstmShape kSmall = {.vocab_size = 23, .width = 6, .units = 9};

WordBatch RandomBatch(int rows, int steps, unsigned seed) {
  std::mt19937 random(seed);
  WordBatch batch = {rows, steps, {}, {}};
  for (int i = 0; i < rows * steps; ++i) {
    // Beginnings and places without a target among them.
    batch.inputs.push_back(random() % 6 == 0 ? WordVocabulary::kBeginning
                                             : static_cast<TokenId>(random() % 23));
    batch.targets.push_back(random() % 7 == 0 ? -1 : static_cast<TokenId>(1 + random() % 22));
  }
  return batch;
}

// Rows of other norms than 1 among the embeddings, biases that are not constant.
std::vector<float> RandomParameters(unsigned seed) {
  std::vector<float> parameters = InitialWordLstm(kSmall, seed);
  std::mt19937 random(seed);
  for (float& value : parameters) {
    value += 0.2f * (static_cast<float>(random() % 2001) / 1000.0f - 1);
  }
  return parameters;
}

// The model as a formula in double, differentiated by libtorch.
struct Reference {
  explicit Reference(std::span<const float> parameters) {
    for (const ParameterVector& vector : WordLstmVectors(kSmall)) {
      leaves.push_back(torch::from_blob(const_cast<float*>(parameters.data()) + vector.begin,
                                        vector.shape, torch::kFloat)
                           .to(torch::kDouble)
                           .clone()
                           .set_requires_grad(true));
    }
  }

  at::Tensor SumOfLosses(const WordBatch& batch) {
    const at::Tensor embedding = leaves[0] / leaves[0].square().sum(1, /*keepdim=*/true).sqrt();
    at::Tensor sum = torch::zeros({}, torch::kDouble);
    for (int r = 0; r < batch.rows; ++r) {
      at::Tensor c = torch::zeros({kSmall.units}, torch::kDouble);
      at::Tensor h = torch::zeros({kSmall.units}, torch::kDouble);
      for (int t = 0; t < batch.steps; ++t) {
        const TokenId input = batch.inputs[t * batch.rows + r];
        const TokenId target = batch.targets[t * batch.rows + r];
        if (input == WordVocabulary::kBeginning) {
          c = torch::zeros_like(c);
          h = torch::zeros_like(h);
        }
        const at::Tensor x = torch::cat({embedding[input], h});
        const auto gate = [&](int g) { return leaves[1 + g].mv(x) + leaves[5 + g]; };
        c = gate(1).sigmoid() * c + gate(0).sigmoid() * gate(3).tanh();
        h = gate(2).sigmoid() * c.tanh();
        const at::Tensor logits = embedding.mv(h.matmul(leaves[9]) + leaves[10]);
        if (target >= 0) sum = sum - logits.log_softmax(0)[target];
      }
    }
    return sum;
  }

  std::vector<at::Tensor> leaves;
};

TEST(WordLstmTest, HasThePapersElevenVectorsAndItsSize) {
  const WordLstmShape shape = {.vocab_size = 10'000 + WordVocabulary::kMarks};
  const ParameterVectors vectors = WordLstmVectors(shape);
  EXPECT_EQ(vectors.size(), 11u);
  EXPECT_EQ(vectors.back().end, 1'346'432u);  // the paper rounds to 1.35 million
  for (std::size_t i = 1; i < vectors.size(); ++i) EXPECT_EQ(vectors[i].begin, vectors[i - 1].end);
}

TEST(WordLstmTest, StartsWithEmbeddingsOfNormOne) {
  const std::vector<float> parameters = InitialWordLstm(kSmall, 5);
  for (int w = 0; w < kSmall.vocab_size; ++w) {
    double squares = 0;
    for (int j = 0; j < kSmall.width; ++j) {
      squares += std::pow(static_cast<double>(parameters[w * kSmall.width + j]), 2);
    }
    EXPECT_NEAR(squares, 1, 1e-6);
  }
  EXPECT_EQ(parameters, InitialWordLstm(kSmall, 5));
  EXPECT_NE(parameters, InitialWordLstm(kSmall, 6));
}

TEST(WordLstmTest, GradientIsTheDerivativeThatAutogradFinds) {
  const std::vector<float> parameters = RandomParameters(1);
  const WordBatch batch = RandomBatch(3, 5, 2);
  constexpr float kWeight = 0.25f;
  WordLstm lstm(kSmall, 4, 5);  // room for more rows than the batch has
  lstm.SetParameters(parameters);
  std::vector<float> gradient(parameters.size(), 99.0f);  // must be replaced
  const double loss = lstm.Gradient(batch, kWeight, gradient);

  Reference reference(parameters);
  const at::Tensor sum = reference.SumOfLosses(batch);
  (sum * kWeight).backward();
  EXPECT_NEAR(loss, sum.item<double>(), 1e-4);
  const ParameterVectors vectors = WordLstmVectors(kSmall);
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    const at::Tensor expected = reference.leaves[v].grad().contiguous();
    const double scale = expected.abs().max().item<double>();
    ASSERT_GT(scale, 1e-3) << vectors[v].name;
    for (std::size_t j = 0; j < vectors[v].size(); ++j) {
      ASSERT_NEAR(gradient[vectors[v].begin + j], expected.data_ptr<double>()[j],
                  1e-5 * scale + 1e-6)
          << vectors[v].name << '[' << j << ']';
    }
  }
}

TEST(WordLstmTest, CarriesItsStateFromBatchToBatchAndForgetsItAtABeginning) {
  const std::vector<float> parameters = RandomParameters(3);
  std::vector<float> gradient(parameters.size());
  WordLstm lstm(kSmall, 2, 8);
  lstm.SetParameters(parameters);
  const auto sum_of = [&](std::vector<TokenId> inputs, std::vector<TokenId> targets) {
    const int steps = static_cast<int>(inputs.size());
    return lstm.Gradient({1, steps, std::move(inputs), std::move(targets)}, 1, gradient);
  };
  const double whole = sum_of({0, 4, 5, 6}, {4, 5, 6, 7});
  lstm.ResetState();
  const double in_two = sum_of({0, 4}, {4, 5}) + sum_of({5, 6}, {6, 7});
  EXPECT_NEAR(in_two, whole, 1e-5);
  const double without_memory = sum_of({0, 4}, {4, 5});
  lstm.ResetState();
  EXPECT_EQ(sum_of({0, 4}, {4, 5}), without_memory);
  // What the memory is worth: without it the second half costs something else.
  lstm.ResetState();
  const double second_alone = sum_of({5, 6}, {6, 7});
  EXPECT_GT(std::abs(without_memory + second_alone - whole), 1e-3);
}

TEST(WordLstmTest, NormalisingTheEmbeddingChangesNoPrediction) {
  std::vector<float> parameters = RandomParameters(4);
  const WordBatch batch = RandomBatch(2, 4, 5);
  std::vector<float> gradient(parameters.size());
  WordLstm lstm(kSmall, 2, 4);
  lstm.SetParameters(parameters);
  const double before = lstm.Gradient(batch, 1, gradient);
  NormaliseEmbedding(kSmall, parameters);
  lstm.ResetState();
  lstm.SetParameters(parameters);
  EXPECT_NEAR(lstm.Gradient(batch, 1, gradient), before, 1e-4);
}

TEST(WordLstmTest, LearnsAShortTextByHeart) {
  std::vector<float> parameters = InitialWordLstm(kSmall, 7);
  std::vector<float> gradient(parameters.size());
  const WordBatch batch = {1, 6, {0, 5, 9, 5, 12, 3}, {5, 9, 5, 12, 3, 1}};
  WordLstm lstm(kSmall, 1, 6);
  double loss = 0;
  for (int step = 0; step < 300; ++step) {
    lstm.SetParameters(parameters);
    loss = lstm.Gradient(batch, 1.0f / 6, gradient) / 6;
    for (std::size_t j = 0; j < parameters.size(); ++j) parameters[j] -= 1.0f * gradient[j];
  }
  EXPECT_LT(loss, 0.05);
}

}  // namespace word_lstm_test
}  // namespace submix::train

#include "submix/train/federated/public_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/train/federated/federated_lstm.h"

namespace submix::train {
namespace public_start_test {

using base::TokenId;
using ::testing::ElementsAre;

TEST(PublicStartTest, ReadsDocumentsUntilThereAreEnoughWords) {
  const base::TemporaryDirectory directory;
  const std::vector<std::string> paths = {directory.File("a.txt"), directory.File("b.txt")};
  SUBMIX_ASSERT_OK(base::WriteFile(paths[0], "one two\none\n<|endoftext|>\n<|endoftext|>\ntwo\n"));
  SUBMIX_ASSERT_OK(base::WriteFile(paths[1], "three one\n"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary, WordVocabulary::FromWords({"one", "two"}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, ReadPublicWords(paths, vocabulary, 100));
  EXPECT_THAT(all, ElementsAre(3, 4, 3, 1, 4, 1, 2, 3, 1));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto some, ReadPublicWords(paths, vocabulary, 4));
  EXPECT_THAT(some, ElementsAre(3, 4, 3, 1));
  const std::vector<std::string> missing = {directory.File("none")};
  EXPECT_THAT(ReadPublicWords(missing, vocabulary, 4),
              base::StatusIs(base::StatusCode::kNotFound, ::testing::HasSubstr("none")));
}

TEST(PublicStartTest, OnePassTeachesWhatTheTextRepeats) {
  constexpr WordLstmShape kShape = {.vocab_size = 9, .width = 4, .units = 8};
  const FederatedLstm model(kShape);
  std::vector<TokenId> words;
  for (int i = 0; i < 3000; ++i) words.push_back(2 + i % 7);
  std::vector<float> parameters = InitialWordLstm(kShape, 1);
  const std::vector<std::vector<TokenId>> heldout = {{words.begin(), words.begin() + 70}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, model.Evaluate(parameters, heldout, 1));
  SUBMIX_ASSERT_OK(TrainOnPublicWords(model, {.batch_size = 4, .unroll = 7, .learning_rate = 2},
                                      words, parameters, base::ProgressStyle::kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, model.Evaluate(parameters, heldout, 1));
  EXPECT_LT(after.loss, before.loss - 1);
}

}  // namespace public_start_test
}  // namespace submix::train

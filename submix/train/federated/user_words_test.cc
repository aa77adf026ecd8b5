#include "submix/train/federated/user_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::train {
namespace user_words_test {

using ::testing::ElementsAre;

TEST(UserWordsTest, GathersUsersCutsLongOnesAndDropsShortOnes) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.File("corpus.jsonl");
  SUBMIX_ASSERT_OK(base::WriteFile(
      path,
      "{\"user\": \"b\", \"text\": \"one two\"}\n{\"user\": \"a\", \"text\": \"two\"}\n"
      "{\"user\": \"b\", \"text\": \"three one one\"}\n{\"user\": \"c\", \"text\": \"one "
      "one\"}\n"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary, WordVocabulary::FromWords({"one", "two"}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, ReadUserWords(path, vocabulary, {}));
  EXPECT_THAT(
      all, ElementsAre(ElementsAre(4, 1), ElementsAre(3, 4, 1, 2, 3, 3, 1), ElementsAre(3, 3, 1)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cut, ReadUserWords(path, vocabulary, {3, 4}));
  EXPECT_THAT(cut, ElementsAre(ElementsAre(3, 4, 1, 2), ElementsAre(3, 3, 1)));
  EXPECT_THAT(FirstWords(all, 4), ElementsAre(ElementsAre(4, 1), ElementsAre(3, 4)));
  EXPECT_THAT(FirstWords(all, 2), ElementsAre(ElementsAre(4, 1)));
}

}  // namespace user_words_test
}  // namespace submix::train

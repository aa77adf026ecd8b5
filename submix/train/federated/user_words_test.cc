#include "submix/train/federated/user_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/train/federated/word_vocabulary.h"

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
  const auto append = [&](const corpus::UserRecord& record, std::vector<base::TokenId>& stream) {
    vocabulary.AppendText(record.text, stream);
    return base::OkStatus();
  };
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, ReadUserStreams(path, {}, append));
  EXPECT_THAT(
      all, ElementsAre(ElementsAre(4, 1), ElementsAre(3, 4, 1, 2, 3, 3, 1), ElementsAre(3, 3, 1)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cut, ReadUserStreams(path, {3, 4}, append));
  EXPECT_THAT(cut, ElementsAre(ElementsAre(3, 4, 1, 2), ElementsAre(3, 3, 1)));
  EXPECT_THAT(FirstWords(all, 4), ElementsAre(ElementsAre(4, 1), ElementsAre(3, 4)));
  EXPECT_THAT(FirstWords(all, 2), ElementsAre(ElementsAre(4, 1)));
}

TEST(UserWordsTest, AUserWithoutAWordIsNone) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.File("corpus.jsonl");
  SUBMIX_ASSERT_OK(base::WriteFile(path,
                                   "{\"user\": \"a\", \"text\": \"\"}\n"
                                   "{\"user\": \"b\", \"text\": \"one\"}\n"
                                   "{\"user\": \"a\", \"text\": \" \"}\n"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto vocabulary, WordVocabulary::FromWords({"one"}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto users,
      ReadUserStreams(path, {},
                      [&](const corpus::UserRecord& record, std::vector<base::TokenId>& stream) {
                        vocabulary.AppendText(record.text, stream);
                        return base::OkStatus();
                      }));
  EXPECT_THAT(users, ElementsAre(ElementsAre(3, 1)));
}

TEST(UserWordsTest, AUserOfWhomNothingCountsIsNone) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.Write("corpus.jsonl",
                                           "{\"user\": \"a\", \"text\": \"one\"}\n"
                                           "{\"user\": \"b\", \"text\": \"two\"}\n");
  const auto append = [](const corpus::UserRecord& record,
                         std::vector<corpus::StreamToken>& stream) {
    stream = {corpus::Uncounted(3), record.text == "one" ? 4 : corpus::Uncounted(4)};
    return base::OkStatus();
  };
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto users, ReadUserStreams(path, {}, append));
  EXPECT_THAT(users, ElementsAre(ElementsAre(~3, 4)));
  // Cut before what counts.
  EXPECT_THAT(ReadUserStreams(path, {1, 1}, append).value(), ::testing::IsEmpty());
}

}  // namespace user_words_test
}  // namespace submix::train

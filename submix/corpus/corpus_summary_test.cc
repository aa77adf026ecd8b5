#include "submix/corpus/corpus_summary.h"

#include <string>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace corpus_summary_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

TEST(CorpusSummaryTest, FindsTheLargestUserAndKeysThatDifferInUnicodeFormAlone) {
  const base::TemporaryDirectory directory;
  const std::string path =
      directory.Write("c.jsonl",
                      "{\"user\": \"Jos\xc3\xa9\", \"text\": \"12345\"}\n"
                      "{\"user\": \"Jose\xcc\x81\", \"text\": \"123\"}\n"
                      "{\"user\": \"b\", \"text\": \"12345678901\"}\n"
                      "{\"user\": \"B\", \"text\": \"\"}\n"
                      "{\"user\": \"c\", \"text\": \"1\", \"owners\": [\"b\"]}\n"
                      "{\"user\": \"Jos\xc3\xa9\", \"text\": \"\xc3\xa9\"}\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CorpusSummary summary, SummarizeCorpus(path));
  EXPECT_EQ(summary.users, 4);
  EXPECT_EQ(summary.bytes, 21);
  EXPECT_EQ(summary.bytes_of_largest, 11);
  EXPECT_EQ(summary.shared_records, 1);
  EXPECT_EQ(summary.keys_alike, 2) << "not those that differ in case";
}

TEST(CorpusSummaryTest, ReportsWhatCannotBeRead) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(SummarizeCorpus(directory.Write("c.jsonl", "{}\n")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c.jsonl:1")));
}

}  // namespace corpus_summary_test
}  // namespace submix::corpus

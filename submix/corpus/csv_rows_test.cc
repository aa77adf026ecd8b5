#include "submix/corpus/csv_rows.h"

#include <utility>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/text_lines.h"

namespace submix::corpus {
namespace csv_rows_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Row = std::pair<std::int64_t, std::vector<std::string>>;

base::StatusOr<std::vector<Row>> Rows(const std::string& content) {
  const base::TemporaryDirectory directory;
  std::vector<Row> rows;
  SUBMIX_RETURN_IF_ERROR(ReadCsvRows(directory.Write("c.csv", content),
                                     [&](std::int64_t line, std::vector<std::string>& fields) {
                                       rows.emplace_back(line, fields);
                                       return base::OkStatus();
                                     }));
  return rows;
}

// RFC 4180, section 2.
TEST(CsvRowsTest, RowsAreWhatTheStandardSays) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto rows, Rows("aaa,bbb\r\n"
                                                    "zzz, yyy ,\r\n"
                                                    "\r\n"
                                                    "\"a\"\"a\",\"b,\r\nb\n\nb\"\n"
                                                    "\"\",last"));
  EXPECT_THAT(rows, ElementsAre(Row(1, {"aaa", "bbb"}), Row(2, {"zzz", " yyy ", ""}),
                                Row(4, {"a\"a", "b,\r\nb\n\nb"}), Row(8, {"", "last"})));
}

TEST(CsvRowsTest, MisplacedQuotesAreRefusedByTheirRow) {
  for (const char* row : {"a\"b,c", "\"a\"b,c", "\"a\nb\"c"}) {
    EXPECT_THAT(Rows(std::string("x,y\n") + row + "\n").status(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("c.csv:2: ")))
        << row;
  }
  EXPECT_THAT(Rows("x,y\na,\"b\nc,d\n").status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("c.csv:2: ")));
}

TEST(CsvRowsTest, AFieldWithoutEndIsRefused) {
  std::string content = "x\n\"";
  for (std::size_t i = 0; i < kMostLineBytes / 1000 + 2; ++i)
    content += std::string(999, 'x') + '\n';
  EXPECT_THAT(Rows(content).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("longer than 64 MiB")));
}

}  // namespace csv_rows_test
}  // namespace submix::corpus

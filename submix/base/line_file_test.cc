#include "submix/base/line_file.h"

#include <csignal>
#include <vector>

#include <sys/resource.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::base {
namespace line_file_test {

using testing::_;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LineFileTest : public testing::Test {
 protected:
  StatusOr<LineFile> Open() {
    lines_.clear();
    return LineFile::Open(path_, [this](std::int64_t number, std::string_view line) {
      EXPECT_EQ(number, std::ssize(lines_) + 1);
      lines_.emplace_back(line);
      return OkStatus();
    });
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.File("lines");
  std::vector<std::string> lines_;
};

TEST_F(LineFileTest, GoesOnBehindWhatIsThere) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(LineFile file, Open());
    EXPECT_THAT(lines_, IsEmpty());
    SUBMIX_ASSERT_OK(file.Append("one"));
    SUBMIX_ASSERT_OK(file.Append(""));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(LineFile file, Open());
  EXPECT_THAT(lines_, ElementsAre("one", ""));
  SUBMIX_ASSERT_OK(file.Append("three"));
  EXPECT_EQ(ReadFile(path_).value(), "one\n\nthree\n");
}

TEST_F(LineFileTest, ALineThatIsCutAnywhereIsDroppedAndNoOther) {
  const std::string whole = "first\nsecond\n";
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    SUBMIX_ASSERT_OK(WriteFile(path_, whole.substr(0, size)));
    SUBMIX_ASSERT_OK_AND_ASSIGN(LineFile file, Open());
    EXPECT_EQ(lines_.size(), size < 6 ? 0u : size < whole.size() ? 1u : 2u);
    SUBMIX_ASSERT_OK(file.Append("next"));
    EXPECT_EQ(ReadFile(path_).value(), whole.substr(0, lines_.empty()       ? 0
                                                       : lines_.size() == 1 ? 6
                                                                            : 13) +
                                           "next\n");
  }
}

TEST_F(LineFileTest, AForeignFileStaysAsItIs) {
  SUBMIX_ASSERT_OK(WriteFile(path_, "foreign\nwithout an end"));
  const auto refuse = [](std::int64_t, std::string_view) { return DataLossError("not mine"); };
  EXPECT_THAT(LineFile::Open(path_, refuse).status(), StatusIs(StatusCode::kDataLoss, "not mine"));
  EXPECT_EQ(ReadFile(path_).value(), "foreign\nwithout an end");
}

TEST_F(LineFileTest, IsOneProcesss) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const LineFile file, Open());
  EXPECT_THAT(Open().status(), StatusIs(StatusCode::kUnavailable, HasSubstr("lines")));
  EXPECT_THAT(LineFile::Open(directory_.path(), {}).status(), StatusIs(StatusCode::kInternal, _));
}

TEST_F(LineFileTest, AFullDiskLosesNothingThatIsWritten) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(LineFile file, Open());
  SUBMIX_ASSERT_OK(file.Append("one"));
  struct rlimit unlimited;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tiny = unlimited;
  tiny.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const Status status = file.Append(std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, HasSubstr("free some space")));
  { const LineFile closed = std::move(file); }
  SUBMIX_ASSERT_OK(Open().status());
  EXPECT_THAT(lines_, ElementsAre("one"));
  EXPECT_EQ(ReadFile(path_).value(), "one\n");
}

}  // namespace line_file_test
}  // namespace submix::base

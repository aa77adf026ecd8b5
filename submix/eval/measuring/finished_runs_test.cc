#include "submix/eval/measuring/finished_runs.h"

#include <cmath>
#include <limits>

#include <sys/stat.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::eval {
namespace finished_runs_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

std::vector<RunSource> Sources() {
  return {{"models", base::Sha256("a")}, {"options", base::Sha256("b")}};
}

class FinishedRunsTest : public testing::Test {
 protected:
  std::string ReadFile() { return base::ReadFile(path_).value(); }
  void WriteFile(const std::string& content) { SUBMIX_ASSERT_OK(base::WriteFile(path_, content)); }
  void WriteTwoRuns() {
    SUBMIX_ASSERT_OK_AND_ASSIGN(FinishedRuns kept, FinishedRuns::Open(path_, Sources()));
    SUBMIX_ASSERT_OK(kept.Add({1, {0.1, 1e300}}));
    SUBMIX_ASSERT_OK(kept.Add({0, {-2.5}}));
    SUBMIX_ASSERT_OK(kept.Save());
  }

  base::TemporaryDirectory directory_;
  const std::string path_ = directory_.File("checkpoint");
};

TEST_F(FinishedRunsTest, KeepsEveryBit) {
  const std::vector<double> values = {0.0,
                                      -0.0,
                                      1.0 / 3,
                                      std::numeric_limits<double>::denorm_min(),
                                      std::numeric_limits<double>::max(),
                                      std::numeric_limits<double>::infinity()};
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(FinishedRuns kept, FinishedRuns::Open(path_, Sources()));
    EXPECT_TRUE(kept.runs().empty());
    SUBMIX_ASSERT_OK(kept.Add({3, values}));
    SUBMIX_ASSERT_OK(kept.Add({0, {}}));
    SUBMIX_ASSERT_OK(kept.Save());
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FinishedRuns kept, FinishedRuns::Open(path_, Sources()));
  EXPECT_EQ(kept.runs(), (std::vector<FinishedRun>{{3, values}, {0, {}}}));
  EXPECT_TRUE(std::signbit(kept.runs()[0].values[1]));
}

TEST_F(FinishedRunsTest, IsForItsOwnerOnly) {
  WriteTwoRuns();
  struct stat info {};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FinishedRunsTest, OtherSourcesAreRefusedByName) {
  WriteTwoRuns();
  std::vector<RunSource> sources = Sources();
  sources[1].digest = base::Sha256("c");
  EXPECT_THAT(FinishedRuns::Open(path_, sources),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
  sources[0].digest = base::Sha256("c");
  EXPECT_THAT(FinishedRuns::Open(path_, sources),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other models")));
}

TEST_F(FinishedRunsTest, ACutOrChangedFileIsRefusedAndLeftAsItIs) {
  WriteTwoRuns();
  const std::string whole = ReadFile();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    WriteFile(whole.substr(0, size));
    EXPECT_FALSE(FinishedRuns::Open(path_, Sources()).ok()) << "cut at " << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    WriteFile(changed);
    EXPECT_FALSE(FinishedRuns::Open(path_, Sources()).ok()) << "changed at " << at;
    EXPECT_EQ(ReadFile(), changed);
  }
  WriteFile(whole + "\n");
  EXPECT_THAT(FinishedRuns::Open(path_, Sources()),
              StatusIs(StatusCode::kDataLoss, HasSubstr("damaged")));
  WriteFile(whole);
  SUBMIX_EXPECT_OK(FinishedRuns::Open(path_, Sources()));
}

TEST_F(FinishedRunsTest, AnotherFileIsRefused) {
  WriteFile("model,order,epsilon\n");
  EXPECT_THAT(FinishedRuns::Open(path_, Sources()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a checkpoint")));
  EXPECT_EQ(ReadFile(), "model,order,epsilon\n");
}

TEST_F(FinishedRunsTest, APlaceThatCannotBeWrittenIsKnownAtOnce) {
  EXPECT_THAT(FinishedRuns::Open(directory_.File("none/checkpoint"), Sources()),
              StatusIs(StatusCode::kNotFound, HasSubstr("none/checkpoint")));
}

}  // namespace finished_runs_test
}  // namespace submix::eval

#include "submix/engine/key_usage.h"

#include <filesystem>
#include <functional>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::engine {
namespace key_usage_test {

using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::HasSubstr;

class KeyUsageTest : public testing::Test {
 protected:
  std::unique_ptr<KeyUsage> Open() { return KeyUsage::Open(directory_.path()).value(); }
  KeyUse UseOf(const std::string& key) { return KeyUsage::Read(directory_.path()).value()[key]; }

  base::TemporaryDirectory directory_;
};

TEST_F(KeyUsageTest, CountsSurviveRestarts) {
  SUBMIX_ASSERT_OK(Open()->Reserve("a", {}, {100, 1}));
  SUBMIX_ASSERT_OK(Open()->Reserve("a", {}, {20, 1}));
  SUBMIX_ASSERT_OK(Open()->Reserve("b", {}, {3, 1}));
  EXPECT_EQ(UseOf("a").tokens, 120);
  EXPECT_EQ(UseOf("a").requests, 2);
  EXPECT_EQ(UseOf("b").tokens, 3);
}

TEST_F(KeyUsageTest, QuotasAreReachedButNotExceeded) {
  const KeyQuotas quotas{100, 3};
  {
    const auto usage = Open();
    SUBMIX_EXPECT_OK(usage->Reserve("a", quotas, {90, 1}));
    EXPECT_THAT(usage->Reserve("a", quotas, {11, 1}), StatusIs(StatusCode::kFailedPrecondition, _));
    SUBMIX_EXPECT_OK(usage->Reserve("a", quotas, {10, 1}));
  }
  const auto usage = Open();
  EXPECT_THAT(usage->Reserve("a", quotas, {1, 1}), StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_EXPECT_OK(usage->Reserve("a", quotas, {0, 1}));
  EXPECT_THAT(usage->Reserve("a", quotas, {0, 1}), StatusIs(StatusCode::kFailedPrecondition, _))
      << "the fourth request";
  SUBMIX_EXPECT_OK(usage->Reserve("b", quotas, {100, 1}));
  EXPECT_EQ(UseOf("a").requests, 3);
}

TEST_F(KeyUsageTest, WhatIsGivenBackCountsAgainAndIsWritten) {
  {
    const auto usage = Open();
    SUBMIX_ASSERT_OK(usage->Reserve("a", {}, {100, 1}));
    usage->GiveBack("a", {60, 0});
    SUBMIX_ASSERT_OK(usage->Reserve("a", {100, {}}, {60, 1}));
    EXPECT_THAT(usage->Reserve("a", {100, {}}, {1, 1}),
                StatusIs(StatusCode::kFailedPrecondition, _));
    usage->GiveBack("a", {7, 0});
  }
  EXPECT_EQ(UseOf("a").tokens, 93);
}

TEST_F(KeyUsageTest, ACrashLosesNoCountButWhatWasToBeGivenBack) {
  const auto usage = Open();
  SUBMIX_ASSERT_OK(usage->Reserve("a", {}, {100, 1}));
  usage->GiveBack("a", {60, 0});
  // What a machine that dies now leaves on its disk.
  base::TemporaryDirectory left;
  for (const char* name : {"usage.sqlite", "usage.sqlite-wal"}) {
    std::filesystem::copy_file(directory_.File(name), left.File(name));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, KeyUsage::Open(left.path()));
  EXPECT_THAT(after->Reserve("a", {100, {}}, {1, 1}), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_EQ(KeyUsage::Read(left.path()).value()["a"].tokens, 100);
}

TEST_F(KeyUsageTest, TwoProcessesShareOneFile) {
  const auto one = Open();
  const auto other = Open();
  SUBMIX_EXPECT_OK(one->Reserve("a", {100, {}}, {60, 1}));
  EXPECT_THAT(other->Reserve("a", {100, {}}, {60, 1}),
              StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_EXPECT_OK(other->Reserve("a", {100, {}}, {40, 1}));
}

TEST_F(KeyUsageTest, AnEmptyFileOfABackupBeforeTheFirstRequestCountsNothing) {
  SUBMIX_ASSERT_OK(base::WriteFile(directory_.File("usage.sqlite"), ""));
  EXPECT_TRUE(KeyUsage::Read(directory_.path()).value().empty());
  SUBMIX_ASSERT_OK(Open()->Reserve("a", {}, {5, 1}));
  EXPECT_EQ(UseOf("a").tokens, 5);
}

TEST_F(KeyUsageTest, RefusesFilesThatItDoesNotKnow) {
  EXPECT_TRUE(KeyUsage::Read(directory_.path()).value().empty()) << "no file yet";
  const std::string path = directory_.File("usage.sqlite");
  SUBMIX_ASSERT_OK(base::WriteFile(path, std::string(4096, 'x')));
  EXPECT_THAT(KeyUsage::Open(directory_.path()).status(), StatusIs(StatusCode::kDataLoss, _));
  std::filesystem::remove(path);
  Open().reset();
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string bytes, base::ReadFile(path));
  bytes[63] = 2;  // SQLite keeps the user version in bytes 60 to 63
  SUBMIX_ASSERT_OK(base::WriteFile(path, bytes));
  EXPECT_THAT(KeyUsage::Open(directory_.path()).status(),
              StatusIs(StatusCode::kFailedPrecondition, testing::HasSubstr("newer Submix")));
}

// All of it, or one of its files, deleted or replaced by an older copy.
TEST_F(KeyUsageTest, AFileThatIsTakenAwayStartsNoQuotaAnew) {
  namespace fs = std::filesystem;
  const KeyQuotas quotas{100, {}};
  const std::string path = directory_.File("usage.sqlite");
  Open();
  fs::copy_file(path, directory_.File("older"));
  const std::vector<std::function<void()>> accidents = {
      [&] { fs::remove(path); },
      [&] {
        for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
      },
      [&] { fs::rename(directory_.File("older"), path); }};
  std::int64_t used = 0;
  for (const auto& happen : accidents) {
    {
      const auto usage = Open();
      SUBMIX_ASSERT_OK(usage->Reserve("a", quotas, {20, 1}));
      used += 20;
      happen();
      for (int i = 0; i < 2; ++i) {
        EXPECT_THAT(usage->Reserve("a", quotas, {1, 1}),
                    StatusIs(StatusCode::kUnavailable, HasSubstr("usage.sqlite")));
      }
      EXPECT_THAT(usage->Write(), StatusIs(StatusCode::kUnavailable, _));
    }
    EXPECT_GE(UseOf("a").tokens, used);
    EXPECT_THAT(Open()->Reserve("a", quotas, {101 - used, 1}),
                StatusIs(StatusCode::kFailedPrecondition, _));
  }
}

TEST_F(KeyUsageTest, AFileThatIsPutBackCountsOn) {
  namespace fs = std::filesystem;
  const auto usage = Open();
  const std::string path = directory_.File("usage.sqlite");
  SUBMIX_ASSERT_OK(usage->Reserve("a", {}, {20, 1}));
  fs::rename(path, directory_.File("aside"));
  EXPECT_THAT(usage->Reserve("a", {}, {1, 1}), StatusIs(StatusCode::kUnavailable, _));
  fs::rename(directory_.File("aside"), path);
  SUBMIX_EXPECT_OK(usage->Write());
  SUBMIX_EXPECT_OK(usage->Reserve("a", {}, {5, 1}));
  EXPECT_GE(UseOf("a").tokens, 25);
  fs::remove(path + "-wal");
  EXPECT_THAT(usage->Reserve("a", {}, {1, 1}), StatusIs(StatusCode::kUnavailable, _));
  SUBMIX_EXPECT_OK(usage->Reserve("a", {}, {5, 1})) << "its content was saved into the file";
  EXPECT_GE(UseOf("a").tokens, 30);
}

}  // namespace key_usage_test
}  // namespace submix::engine

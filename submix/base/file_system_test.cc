#include "submix/base/file_system.h"

#include <csignal>
#include <filesystem>
#include <fstream>

#include <sys/resource.h>
#include <sys/stat.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::base {
namespace file_system_test {

using testing::_;
using testing::ElementsAre;

class FileSystemTest : public testing::Test {
 protected:
  TemporaryDirectory directory_;
};

TEST_F(FileSystemTest, WritesReplaceAndKeepTheMode) {
  const std::string path = directory_.File("key");
  SUBMIX_ASSERT_OK(WriteFile(path, "one", 0600));
  SUBMIX_ASSERT_OK(WriteFile(path, std::string("t\0wo", 4), 0600));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string content, ReadFile(path));
  EXPECT_EQ(content, std::string("t\0wo", 4));
  struct stat info;
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto names, ListDirectory(directory_.path()));
  EXPECT_THAT(names, ElementsAre("key"));
}

TEST_F(FileSystemTest, AFullDiskLeavesTheOldContent) {
  const std::string path = directory_.File("manifest");
  SUBMIX_ASSERT_OK(WriteFile(path, "old"));
  struct rlimit unlimited;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit tiny = unlimited;
  tiny.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tiny), 0);
  const Status status = WriteFile(path, std::string(5000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_THAT(status, StatusIs(StatusCode::kResourceExhausted, _));
  EXPECT_EQ(ReadFile(path).value(), "old");
  EXPECT_THAT(ListDirectory(directory_.path()).value(), ElementsAre("manifest"));
}

TEST_F(FileSystemTest, SaysWhatIsMissing) {
  EXPECT_THAT(ReadFile(directory_.File("none")), StatusIs(StatusCode::kNotFound, _));
  EXPECT_THAT(ListDirectory(directory_.File("none")), StatusIs(StatusCode::kNotFound, _));
  EXPECT_FALSE(FileExists(directory_.File("none")));
}

TEST_F(FileSystemTest, PrivateDirectoriesAreTheOwnersAlone) {
  SUBMIX_ASSERT_OK(MakeDirectories(directory_.File("d")));
  SUBMIX_ASSERT_OK(MakePrivate(directory_.File("d")));
  struct stat info;
  ASSERT_EQ(::stat(directory_.File("d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(FileSystemTest, LocksExcludeEachOtherAndEnd) {
  const std::string path = directory_.File("lock");
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto lock, LockFile(path));
    EXPECT_THAT(LockFile(path), StatusIs(StatusCode::kUnavailable, _));
  }
  SUBMIX_EXPECT_OK(LockFile(path));
}

TEST_F(FileSystemTest, MakesRenamesAndRemovesTrees) {
  SUBMIX_ASSERT_OK(MakeDirectories(directory_.File("a/b/c")));
  SUBMIX_ASSERT_OK(WriteFile(directory_.File("a/b/c/x"), "x"));
  SUBMIX_ASSERT_OK(Rename(directory_.File("a/b"), directory_.File("a/d")));
  EXPECT_TRUE(FileExists(directory_.File("a/d/c/x")));
  SUBMIX_ASSERT_OK(RemoveAll(directory_.File("a")));
  EXPECT_FALSE(FileExists(directory_.File("a")));
  SUBMIX_EXPECT_OK(RemoveAll(directory_.File("a")));
}

TEST_F(FileSystemTest, AFileThatIsReplacedIsAnother) {
  const std::string path = directory_.File("a");
  SUBMIX_ASSERT_OK(WriteFile(path, "1"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FileIdentity first, IdentityOf(path));
  std::ofstream(path) << "2";
  EXPECT_EQ(*IdentityOf(path), first) << "it is the same file";
  const std::ifstream open(path);
  SUBMIX_ASSERT_OK(WriteFile(path, "2"));
  EXPECT_NE(*IdentityOf(path), first);
  SUBMIX_ASSERT_OK(RemoveAll(path));
  EXPECT_THAT(IdentityOf(path), StatusIs(StatusCode::kNotFound, testing::HasSubstr(path)));
}

TEST_F(FileSystemTest, OnlyRegularFilesAreRead) {
  const std::string pipe = directory_.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, std::string("/dev/zero"), directory_.path()}) {
    EXPECT_THAT(ReadFile(path),
                StatusIs(StatusCode::kDataLoss, testing::HasSubstr("not a regular file")));
  }
  const std::string huge = directory_.Write("huge", "");
  std::filesystem::resize_file(huge, (std::size_t{1} << 30) + 1);
  EXPECT_THAT(ReadFile(huge), StatusIs(StatusCode::kDataLoss, testing::HasSubstr("gibibyte")));
}

TEST_F(FileSystemTest, AVersionChangesWithTheFile) {
  const std::string path = directory_.Write("a", "1");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FileVersion first, VersionOf(path));
  EXPECT_EQ(*VersionOf(path), first);
  SUBMIX_ASSERT_OK(AppendToFile(path, "2"));
  EXPECT_NE(*VersionOf(path), first);
  EXPECT_THAT(VersionOf(path + "x"), StatusIs(StatusCode::kNotFound, testing::HasSubstr("x")));
}

}  // namespace file_system_test
}  // namespace submix::base

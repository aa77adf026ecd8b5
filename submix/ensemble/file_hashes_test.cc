#include <filesystem>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/manifest.h"

namespace submix::ensemble {
namespace file_hashes_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class FileHashesTest : public ::testing::Test {
 protected:
  FileHashesTest() {
    directory_.Write("public/config.json", "{}");
    directory_.Write("public/model.safetensors", std::string(100'000, 'w'));
    directory_.Write("members/00a/adapter_config.json", "a");
    directory_.Write("members/00b/adapter_config.json", "b");
    directory_.Write("partition.key", "secret");
    EXPECT_THAT(HashFiles(manifest_, directory_.path()), base::IsOk());
  }
  base::Status Verify() { return VerifyFiles(manifest_, directory_.path()); }
  auto IsRefusedWith(const std::string& file, const std::string& problem) {
    return StatusIs(
        StatusCode::kFailedPrecondition,
        AllOf(HasSubstr(directory_.path()), HasSubstr("\"" + file + "\""), HasSubstr(problem)));
  }

  base::TemporaryDirectory directory_;
  Manifest manifest_;
};

TEST_F(FileHashesTest, ListsTheFilesOfPublicAndMembersOnly) {
  EXPECT_THAT(manifest_.file_sha256,
              ElementsAre(Pair("members/00a/adapter_config.json", base::ToHex(base::Sha256("a"))),
                          Pair("members/00b/adapter_config.json", base::ToHex(base::Sha256("b"))),
                          Pair("public/config.json", base::ToHex(base::Sha256("{}"))),
                          Pair("public/model.safetensors",
                               base::ToHex(base::Sha256(std::string(100'000, 'w'))))));
}

TEST_F(FileHashesTest, AnUnchangedEnsemblePasses) {
  SUBMIX_EXPECT_OK(Verify());
  directory_.Write("partition.key", "changed");
  directory_.Write("notes.txt", "beside the ensemble");
  SUBMIX_EXPECT_OK(Verify());
}

TEST_F(FileHashesTest, HashingAgainReplacesTheList) {
  std::filesystem::remove_all(directory_.File("members/00b"));
  SUBMIX_ASSERT_OK(HashFiles(manifest_, directory_.path()));
  EXPECT_EQ(manifest_.file_sha256.size(), 3u);
  SUBMIX_EXPECT_OK(Verify());
}

TEST_F(FileHashesTest, AChangedFileIsNamed) {
  directory_.Write("members/00b/adapter_config.json", "B");
  EXPECT_THAT(Verify(), IsRefusedWith("members/00b/adapter_config.json", "is not the one"));
}

TEST_F(FileHashesTest, AMissingFileIsNamed) {
  std::filesystem::remove(directory_.File("public/config.json"));
  EXPECT_THAT(Verify(), IsRefusedWith("public/config.json", "is missing"));
  std::filesystem::remove_all(directory_.File("members"));
  EXPECT_THAT(Verify(), IsRefusedWith("members/00a/adapter_config.json", "is missing"));
}

TEST_F(FileHashesTest, AFileThatIsNotListedIsNamed) {
  for (const char* name : {"members/00a/adapter_model.bin", "members/00c/adapter_config.json",
                           "members/loose", "public/.hidden"}) {
    directory_.Write(name, "extra");
    EXPECT_THAT(Verify(), IsRefusedWith(name, "is not listed"));
    std::filesystem::remove(directory_.File(name));
  }
  SUBMIX_EXPECT_OK(Verify());  // the empty directory that is left means nothing
}

TEST_F(FileHashesTest, LinksCountAsFilesButNotAsDirectories) {
  const std::string link = directory_.File("public/config.json");
  directory_.Write("elsewhere.json", "{}");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(directory_.File("elsewhere.json"), link);
  SUBMIX_EXPECT_OK(Verify());
  std::filesystem::create_directory_symlink(directory_.File("members/00a"),
                                            directory_.File("members/01a"));
  EXPECT_THAT(Verify(), IsRefusedWith("members/01a", "neither a file nor a directory"));
  EXPECT_THAT(HashFiles(manifest_, directory_.path()),
              IsRefusedWith("members/01a", "neither a file nor a directory"));
}

TEST_F(FileHashesTest, ADirectoryWithoutAnEnsembleHasNothingToHash) {
  EXPECT_THAT(HashFiles(manifest_, directory_.File("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
  EXPECT_EQ(manifest_.file_sha256.size(), 4u);
}

}  // namespace file_hashes_test
}  // namespace submix::ensemble

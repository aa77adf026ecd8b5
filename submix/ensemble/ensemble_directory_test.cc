#include "submix/ensemble/ensemble_directory.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/batches.h"

namespace submix::ensemble {
namespace ensemble_directory_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EnsembleDirectoryTest, PathsAreThoseOfTheFormat) {
  EXPECT_EQ(ManifestPath("e"), "e/manifest.json");
  EXPECT_EQ(PublicDirectory("e/"), "e/public");
  EXPECT_EQ(PartitionKeyPath("/x/e"), "/x/e/partition.key");
  MemberEntry member;
  member.directory = MemberDirectory(3, 1, 8, 2);
  EXPECT_EQ(MemberPath("e", member), "e/members/03b");
}

TEST(EnsembleDirectoryTest, TwoWritersNeverMeet) {
  const base::TemporaryDirectory directory;
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto lock, LockEnsemble(directory.path()));
    EXPECT_THAT(LockEnsemble(directory.path()),
                StatusIs(StatusCode::kUnavailable,
                         AllOf(HasSubstr(directory.path()), HasSubstr("run it again"))));
  }
  SUBMIX_EXPECT_OK(LockEnsemble(directory.path()));
}

TEST(EnsembleDirectoryTest, WhereThereIsNoDirectoryThereIsNoLock) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(LockEnsemble(directory.File("none")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

TEST(EnsembleDirectoryTest, ListsTheEnsemblesBesideOne) {
  const base::TemporaryDirectory directory;
  for (const char* name : {"b", "a", "no ensemble"}) {
    SUBMIX_ASSERT_OK(base::MakeDirectories(directory.File(name)));
  }
  for (const char* name : {"b", "a"}) {
    SUBMIX_ASSERT_OK(base::WriteFile(ManifestPath(directory.File(name)), "{}"));
  }
  for (const char* name : {"new", "new/"}) {
    EXPECT_THAT(EnsemblesBeside(directory.File(name)),
                ElementsAre(directory.File("a"), directory.File("b")));
  }
  EXPECT_THAT(EnsemblesBeside(directory.File("a")), ElementsAre(directory.File("b")));
}

TEST(EnsembleDirectoryTest, ListsTheBatchesBesideOne) {
  const base::TemporaryDirectory directory;
  const std::string first = BatchDirectory(directory.File("batches"), 0, 2);
  const std::string second = BatchDirectory(directory.File("batches"), 1, 2);
  for (const std::string& batch : {first, second}) {
    SUBMIX_ASSERT_OK(base::MakeDirectories(batch));
    SUBMIX_ASSERT_OK(base::WriteFile(ManifestPath(batch), "{}"));
  }
  EXPECT_THAT(EnsemblesBeside(directory.File("new")), ElementsAre(first, second));
}

}  // namespace ensemble_directory_test
}  // namespace submix::ensemble

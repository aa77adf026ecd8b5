#include "submix/ensemble/preparation/user_list.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"

namespace submix::ensemble {
namespace user_list_test {

using ::testing::HasSubstr;
using ::testing::Not;

class UserListTest : public testing::Test {
 protected:
  void MakeEnsemble(const std::string& name, const std::vector<std::string>& users) const {
    const std::string ensemble = directory_.File(name);
    SUBMIX_ASSERT_OK(base::MakeDirectories(ensemble));
    SUBMIX_ASSERT_OK(base::WriteFile(ManifestPath(ensemble), "{}"));
    const base::HashKey key = corpus::NewPartitionKey();
    SUBMIX_ASSERT_OK(corpus::SavePartitionKey(key, PartitionKeyPath(ensemble)));
    std::vector<std::vector<corpus::UserTokens>> members(1);
    for (const std::string& user : users) members.push_back({{user, {1}}});
    SUBMIX_ASSERT_OK(SaveUserList(ensemble, key, members));
  }

  base::TemporaryDirectory directory_;
};

TEST_F(UserListTest, CountsTheUsersOfACorpusThatEnsemblesHaveRead) {
  MakeEnsemble("some", {"ann", "bob"});
  MakeEnsemble("none", {"dan"});
  MakeEnsemble("older", {"ann"});
  SUBMIX_ASSERT_OK(base::RemoveAll(directory_.File("older/users")));
  SUBMIX_ASSERT_OK(base::WriteFile(directory_.File("text.jsonl"),
                                   R"({"user": "bob", "text": "x"}
{"user": "cleo", "text": "x"}
{"user": "eve", "text": "x"}
{"user": "bob", "text": "y"})"));
  const std::vector<std::string> ensembles = {directory_.File("none"), directory_.File("older"),
                                              directory_.File("some")};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto shared,
                              CountSharedUsers(directory_.File("text.jsonl"), ensembles));
  ASSERT_EQ(shared.size(), 3u);
  EXPECT_EQ(shared[0].shared, 0);
  EXPECT_EQ(shared[1].shared, std::nullopt);
  EXPECT_EQ(shared[2].shared, 1);
  EXPECT_EQ(shared[2].in_corpus, 3);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto listed, UsersOnList(ensembles[2], {"bob", "cleo", "ann"}));
  EXPECT_EQ(listed, (std::vector<std::string>{"bob", "ann"}));
}

TEST_F(UserListTest, NamesNobodyToWhoLacksTheKey) {
  MakeEnsemble("one", {"ann"});
  MakeEnsemble("two", {"ann"});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto one, base::ReadFile(directory_.File("one/users")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto two, base::ReadFile(directory_.File("two/users")));
  EXPECT_THAT(one, Not(HasSubstr("ann")));
  EXPECT_NE(one, two);
}

}  // namespace user_list_test
}  // namespace submix::ensemble

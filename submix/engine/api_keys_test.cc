#include "submix/engine/api_keys.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <sys/stat.h>

#include "submix/base/file_system.h"
#include "submix/base/log.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::engine {
namespace api_keys_test {

using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class ApiKeysTest : public testing::Test {
 protected:
  std::string File() { return base::ReadFile(path_).value(); }

  base::TemporaryDirectory directory_;
  const std::string path_ = directory_.File("keys.json");
  ApiKeys keys_{directory_.path()};
};

TEST_F(ApiKeysTest, WhoHoldsTheSecretIsKnown) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey first, keys_.Create("first", {}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey second, keys_.Create("second", {1000, 20}));
  EXPECT_NE(first.secret, second.secret);
  EXPECT_NE(first.key.id, second.key.id);
  EXPECT_EQ(second.secret.size(), std::string("sk-submix-").size() + 64);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ApiKey found, keys_.Authenticate(second.secret));
  EXPECT_EQ(found.id, second.key.id);
  EXPECT_EQ(found.name, "second");
  EXPECT_EQ(found.quotas.tokens, 1000);
  EXPECT_EQ(found.quotas.requests, 20);
  EXPECT_EQ(keys_.Authenticate(first.secret)->quotas.tokens, std::nullopt);
}

TEST_F(ApiKeysTest, EverybodyElseIsNot) {
  EXPECT_THAT(keys_.Authenticate("sk-submix-"), StatusIs(StatusCode::kNotFound, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {}));
  std::string wrong = created.secret;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  for (const std::string& secret :
       {wrong, std::string(), created.key.id, created.secret + "0",
        base::ToHex(created.key.secret_sha256), created.secret.substr(0, 40)}) {
    EXPECT_THAT(keys_.Authenticate(secret), StatusIs(StatusCode::kNotFound, _)) << secret;
  }
}

TEST_F(ApiKeysTest, TheSecretIsStoredNowhere) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {}));
  EXPECT_THAT(File(), Not(HasSubstr(created.secret.substr(10))));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path_).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(ApiKeysTest, ARevocationIsSeenAtOnceByWhoeverServes) {
  const ApiKeys server(directory_.path());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey other, keys_.Create("b", {}));
  SUBMIX_EXPECT_OK(server.Authenticate(created.secret));
  SUBMIX_ASSERT_OK(keys_.Revoke(created.key.id));
  EXPECT_THAT(server.Authenticate(created.secret), StatusIs(StatusCode::kNotFound, _));
  SUBMIX_EXPECT_OK(server.Authenticate(other.secret));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, keys_.List());
  SUBMIX_ASSERT_OK(keys_.Revoke(created.key.id));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, keys_.List());
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after[0].revoked, before[0].revoked);
  EXPECT_TRUE(after[0].revoked.has_value());
  EXPECT_FALSE(after[1].revoked.has_value());
  EXPECT_THAT(keys_.Revoke("key_none"), StatusIs(StatusCode::kNotFound, _));
}

TEST_F(ApiKeysTest, DamagedAndNewerFilesLetNobodyIn) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {7, {}}));
  SUBMIX_EXPECT_OK(keys_.Authenticate(created.secret));
  const std::string text = File();
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 5) {
    SUBMIX_ASSERT_OK(base::WriteFile(path_, text.substr(0, cut)));
    EXPECT_THAT(keys_.Authenticate(created.secret), StatusIs(StatusCode::kInvalidArgument, _));
    EXPECT_THAT(keys_.Create("b", {}).status(), StatusIs(StatusCode::kInvalidArgument, _));
  }
  std::string newer = text;
  newer.replace(newer.find("\"format\": 1"), 11, "\"format\": 2");
  SUBMIX_ASSERT_OK(base::WriteFile(path_, newer));
  EXPECT_THAT(keys_.Authenticate(created.secret),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("newer Submix")));
  SUBMIX_ASSERT_OK(base::WriteFile(path_, text));
  SUBMIX_EXPECT_OK(keys_.Authenticate(created.secret));
}

TEST_F(ApiKeysTest, TheLogSaysOnceWhyNobodyGetsInAndWhenThatIsOver) {
  std::vector<std::string> log;
  base::SetLogSink([&](base::LogSeverity, std::string_view line) { log.emplace_back(line); });
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {}));
  const std::string text = File();
  for (int i = 0; i < 2; ++i) {
    SUBMIX_ASSERT_OK(base::WriteFile(path_, "{"));
    for (int tries = 0; tries < 3; ++tries) (void)keys_.Authenticate(created.secret);
    SUBMIX_ASSERT_OK(base::WriteFile(path_, text));
    for (int tries = 0; tries < 3; ++tries) (void)keys_.Authenticate(created.secret);
  }
  (void)keys_.Authenticate("a wrong one");
  base::SetLogSink(nullptr);
  const auto is_cause = AllOf(HasSubstr(path_), HasSubstr("not a file of API keys"));
  const auto is_over = AllOf(HasSubstr(path_), HasSubstr("well again"));
  EXPECT_THAT(log, ElementsAre(is_cause, is_over, is_cause, is_over));
}

TEST_F(ApiKeysTest, ANameIsOneLivingKeys) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey first, keys_.Create("a", {}));
  EXPECT_THAT(keys_.Create("a", {}).status(),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr(first.key.id)));
  SUBMIX_ASSERT_OK(keys_.Revoke("a"));
  EXPECT_THAT(keys_.Revoke("a"), StatusIs(StatusCode::kNotFound, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey second, keys_.Create("a", {}));
  SUBMIX_EXPECT_OK(keys_.Authenticate(second.secret));
  EXPECT_THAT(keys_.Create("two\nlines", {}).status(), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_THAT(keys_.Create(std::string(201, 'a'), {}).status(),
              StatusIs(StatusCode::kInvalidArgument, _));
}

TEST_F(ApiKeysTest, TenThousandKeysAreFoundByDigest) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const NewApiKey created, keys_.Create("a", {}));
  std::string text = File();
  const std::size_t begin = text.find('{', 1);
  const std::size_t end = text.find('}', begin) + 1;
  const std::string entry = text.substr(begin, end - begin);
  std::string others;
  for (int i = 0; i < 10'000; ++i) {
    std::string other = entry;
    const std::string digest = base::ToHex(base::Sha256(std::to_string(i)));
    other.replace(other.find(base::ToHex(created.key.secret_sha256)), digest.size(), digest);
    others += other + ",";
  }
  SUBMIX_ASSERT_OK(base::WriteFile(path_, text.insert(begin, others)));
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  SUBMIX_ASSERT_OK(keys_.Authenticate(created.secret));
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1'000; ++i) EXPECT_FALSE(keys_.Authenticate("wrong").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500))
      << "as long as one reading a key would take more than ten seconds";
}

TEST_F(ApiKeysTest, APipeInTheFilesPlaceHoldsNobodyUp) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(keys_.Authenticate("a"),
              StatusIs(StatusCode::kDataLoss, HasSubstr("not a regular file")));
}

TEST_F(ApiKeysTest, RefusesNamelessKeysAndNegativeQuotas) {
  EXPECT_THAT(keys_.Create("", {}).status(), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_THAT(keys_.Create("a", {-1, {}}).status(), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_THAT(keys_.Create("a", {{}, -1}).status(), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_TRUE(keys_.List()->empty());
}

}  // namespace api_keys_test
}  // namespace submix::engine

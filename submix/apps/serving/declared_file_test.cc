#include "submix/apps/serving/declared_file.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::apps {
namespace declared_file_test {

using base::StatusCode;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

class DeclaredFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& toml) {
    const std::string path = directory_.File("said.toml");
    SUBMIX_EXPECT_OK(base::WriteFile(path, toml));
    return path;
  }

  // That a file is refused, with these words.
  template <typename... Words>
  void Refuses(const std::string& toml, const Words&... words) {
    EXPECT_THAT(ReadDeclared(Write(toml)),
                StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(words)...)))
        << toml;
  }

  base::TemporaryDirectory directory_;
};

TEST_F(DeclaredFileTest, EveryFieldIsReadAndAbsentOnesAreNotDeclared) {
  std::string toml;
  for (const eval::DeclaredField& field : eval::kDeclaredFields) {
    toml += std::string(field.key) + " = \"of " + std::string(field.key) + "\"\n";
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, ReadDeclared(Write(toml)));
  EXPECT_EQ(all.size(), std::size(eval::kDeclaredFields));
  EXPECT_EQ(all.at("retention"), "of retention");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto one,
                              ReadDeclared(Write("# a comment\nretention = '''\n30 days,\nthen "
                                                 "deleted'''\n")));
  EXPECT_EQ(one.size(), 1U);
  EXPECT_EQ(one.at("retention"), "30 days,\nthen deleted");
  EXPECT_EQ(eval::DeclaredOr(one, "key_holders", eval::kNotDeclared), "not declared");
}

TEST_F(DeclaredFileTest, AnUnknownKeyIsNamedWithItsLine) {
  Refuses("retention = \"a year\"\n\nretension = \"a year\"\n",
          "said.toml:3: retension: ", "public_model, other_releases, retention, key_holders");
  Refuses("[keys]\nretention = \"a year\"\n", "said.toml:1: keys: there is no such field");
  Refuses("retention.days = \"30\"\n", "said.toml:1: retention: expected text");
  Refuses("\"\\u0001\" = \"\"\n", "said.toml:1: ?: ");
}

TEST_F(DeclaredFileTest, WhatIsNoStatementIsRefused) {
  for (const char* value : {"30", "true", "[\"a\"]", "{ days = 30 }", "1979-05-27"}) {
    Refuses("\nretention = " + std::string(value) + "\n", "said.toml:2: retention: expected text");
  }
  for (const char* empty : {"\"\"", "\" \\n \""}) {
    Refuses("retention = " + std::string(empty) + "\n", "says nothing");
  }
  Refuses("retention = \"" + std::string(1001, 'a') + "\"\n", "1001 bytes, more than 1000");
  SUBMIX_EXPECT_OK(ReadDeclared(Write("retention = \"" + std::string(1000, 'a') + "\"\n")));
  Refuses("retention = \"a\\u001bb\"\n", "control character");
}

TEST_F(DeclaredFileTest, WhatIsNoFileOfStatementsIsRefused) {
  Refuses("", "declares nothing");
  Refuses("# only words\n", "declares nothing");
  Refuses("{\"retention\": \"a\"}\n", "said.toml:1: not TOML");
  Refuses("retention = \"open\n", "said.toml:1: not TOML");
  Refuses("retention = \"a\"\nretention = \"b\"\n", "said.toml:2: not TOML");
  Refuses("retention = \"\xff\"\n", "not TOML");
  Refuses("retention = \"a\" #" + std::string(5000, '#') + "\n", "said.toml:1: a line of more");
  EXPECT_THAT(ReadDeclared(directory_.File("none.toml")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.toml")));
}

TEST_F(DeclaredFileTest, ADeploymentKeepsTheLastThatWasWhole) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto none, DeclaredOf(directory_.path()));
  EXPECT_TRUE(none.empty());
  SUBMIX_ASSERT_OK(Declare(Write("retention = \"a year\"\n"), directory_.path()));
  SUBMIX_ASSERT_OK(Declare(Write("key_holders = \"Mira\"  # on leave\n"), directory_.path()));
  EXPECT_FALSE(Declare(Write("keys = \"Mira\"\n"), directory_.path()).ok());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto declared, DeclaredOf(directory_.path()));
  EXPECT_EQ(declared, (eval::DeclaredStatements{{"key_holders", "Mira"}}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string kept,
                              base::ReadFile(DeclaredPath(directory_.path())));
  EXPECT_EQ(kept, "key_holders = \"Mira\"  # on leave\n");
}

TEST_F(DeclaredFileTest, WhatIsPrintedToBeEditedIsReadAgain) {
  const eval::DeclaredStatements declared = {{"retention", "\"30 days\",\nthen \\ deleted"},
                                             {"public_model", "é"}};
  const std::string toml = DeclaredToml(declared);
  EXPECT_THAT(toml, HasSubstr("# key_holders = \"\"\n"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto read, ReadDeclared(Write(toml)));
  EXPECT_EQ(read, declared);
}

}  // namespace declared_file_test
}  // namespace submix::apps

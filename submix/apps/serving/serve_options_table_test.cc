#include "submix/apps/serving/serve_options_table.h"

#include <set>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::apps {
namespace serve_options_table_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Every option said once, as examples/serve.toml does but for comments, with other values than the
// defaults where `is_other`.
std::string Toml(const ServeConfig& defaults, bool is_other) {
  std::string toml;
  std::string_view section;
  for (const ServeOption& option : ServeOptionsTable()) {
    if (option.section() != section) {
      section = option.section();
      toml += "[" + std::string(section) + "]\n";
    }
    std::string value = ServeValueText(option, defaults);
    if (is_other) {
      if (value == "true" || value == "false") {
        value = value == "true" ? "false" : "true";
      } else if (value.front() == '[') {
        value = "[\"a\", \"b\"]";
      } else if (option.words != nullptr) {
        value = "\"" + option.words().back() + "\"";
      } else if (option.path == "predictor.predictor") {
        value = "\"external:/socket\"";
      } else if (value.front() == '"') {
        value = "\"other\"";
      } else {
        value = value.find('.') == std::string::npos ? std::to_string(std::stoi(value) + 1) : "7.5";
      }
    }
    if (option.key() == "key_file") continue;
    toml += std::string(option.key()) + " = " + value + "\n";
  }
  return toml;
}

class ServeOptionsTableTest : public ::testing::Test {
 protected:
  ServeOptionsTableTest() {
    defaults_.operator_server = DefaultOperatorServer();
    EXPECT_TRUE(base::WriteFile(directory_.path() + "/key", "0123456789abcdef\n", 0600).ok());
  }

  base::StatusOr<ServeConfig> Load(const std::string& toml) const {
    const std::string path = directory_.path() + "/serve.toml";
    SUBMIX_RETURN_IF_ERROR(
        base::WriteFile(path, toml + "key_file = \"" + directory_.path() + "/key\"\n"));
    return LoadServeConfig(path);
  }

  const base::TemporaryDirectory directory_;
  ServeConfig defaults_;
};

TEST_F(ServeOptionsTableTest, EveryOptionIsSaidOnce) {
  std::set<std::string_view> paths, flags;
  for (const ServeOption& option : ServeOptionsTable()) {
    EXPECT_TRUE(paths.insert(option.path).second) << option.path;
    EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    EXPECT_EQ(FindServeOption(option.section(), option.key()), &option) << option.path;
  }
  EXPECT_EQ(FindServeOption("server", "prot"), nullptr);
}

TEST_F(ServeOptionsTableTest, TheExampleIsTheTable) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string example,
                              base::ReadFile(SUBMIX_TESTDATA_DIR "/../examples/serve.toml"));
  EXPECT_EQ(example, ServeOptionsAsToml());
}

TEST_F(ServeOptionsTableTest, WhatTheFileSaysIsRead) {
  for (const bool is_other : {false, true}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const ServeConfig found, Load(Toml(defaults_, is_other)));
    for (const ServeOption& option : ServeOptionsTable()) {
      if (option.key() == "key_file") continue;
      EXPECT_EQ(ServeValueText(option, found) == ServeValueText(option, defaults_), !is_other)
          << option.path;
    }
    EXPECT_EQ(found.operator_server->key, "0123456789abcdef");
  }
}

TEST_F(ServeOptionsTableTest, ValuesOfAnotherKindAreRefusedByLineAndOption) {
  for (const ServeOption& option : ServeOptionsTable()) {
    const std::string section = std::string(option.section());
    const std::string toml = "[" + section + "]\n" + std::string(option.key()) + " = 1979-05-27\n" +
                             (section == kOperatorSection ? "" : "[operator]\n");
    if (option.key() == "key_file") continue;
    EXPECT_THAT(Load(toml), StatusIs(StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("serve.toml:2: "),
                                           HasSubstr(std::string(option.path) + ": expected"))));
  }
}

TEST_F(ServeOptionsTableTest, FlagsSetWhatTheFileSets) {
  const ServeOption& port = *FindServeOption("server", "port");
  const ServeOption& host = *FindServeOption("server", "host");
  ServeConfig config;
  EXPECT_EQ(SetServeOption(port, "80", config), "");
  EXPECT_EQ(SetServeOption(host, "8.8.8.8", config), "");
  EXPECT_EQ(config.http.listener.port, 80);
  EXPECT_EQ(config.http.listener.host, "8.8.8.8");
  for (const char* wrong : {"65536", "-1", "1.5", "much", "", "1\nother = 2\n]"}) {
    EXPECT_NE(SetServeOption(port, wrong, config), "") << wrong;
  }
  EXPECT_EQ(config.http.listener.port, 80);
}

}  // namespace serve_options_table_test
}  // namespace submix::apps

#include "submix/mechanism/options_table.h"

#include <set>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::mechanism {
namespace options_table_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

const MechanismOption& Option(std::string_view path) {
  for (const MechanismOption& option : MechanismOptionsTable()) {
    if (option.path == path) return option;
  }
  ADD_FAILURE() << path;
  return MechanismOptionsTable().front();
}

// Another value of the same kind.
OptionValue Other(const OptionValue& value) {
  if (std::holds_alternative<double>(value)) return std::get<double>(value) + .25;
  if (std::holds_alternative<std::int64_t>(value)) return std::get<std::int64_t>(value) + 1;
  const std::string word = std::get<std::string>(value);
  return word == "2" ? "3" : word == "default" ? "published" : "dclip";
}

TEST(OptionsTableTest, EveryRowIsOneFieldOfItsOwnAndIsCompletelyDescribed) {
  std::set<std::string_view> paths, flags;
  for (const MechanismOption& option : MechanismOptionsTable()) {
    EXPECT_TRUE(paths.insert(option.path).second) << option.path;
    EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    for (const std::string_view text : {option.range, option.unsaid, option.reason, option.help}) {
      EXPECT_FALSE(text.empty()) << option.path;
    }
    MechanismOptions options;
    SUBMIX_ASSERT_OK(SetValue(option, Other(ValueOf(option, options)), options));
    for (const MechanismOption& other : MechanismOptionsTable()) {
      EXPECT_EQ(ValueOf(other, options) != ValueOf(other, MechanismOptions()), &other == &option)
          << option.path << " and " << other.path;
    }
  }
}

TEST(OptionsTableTest, TextGivesEveryValueBack) {
  for (const MechanismOption& option : MechanismOptionsTable()) {
    MechanismOptions options, again;
    SUBMIX_ASSERT_OK(SetValue(option, Other(ValueOf(option, options)), options));
    SUBMIX_ASSERT_OK(SetText(option, TextOf(option, options), again));
    EXPECT_EQ(ValueOf(option, again), ValueOf(option, options)) << option.path;
  }
  MechanismOptions options;
  options.target_leakage = 1. / 3;
  EXPECT_EQ(TextOf(Option("target_leakage"), options), "0.3333333333333333");
  options.order = divergence::RenyiOrder::Infinity();
  EXPECT_EQ(TextOf(Option("order"), options), "inf");
}

TEST(OptionsTableTest, RefusesWhatIsOfAnotherKind) {
  MechanismOptions options;
  for (const auto& [path, text] : {std::pair("clip.stretch", "wide"),
                                   {"clip.stretch", ""},
                                   {"clip.stretch", "1.5x"},
                                   {"screen.top_tokens", "2.5"},
                                   {"screen.top_tokens", "1e300"}}) {
    EXPECT_THAT(SetText(Option(path), text, options),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(Option(path).flag)))
        << path << " " << text;
  }
  EXPECT_FALSE(SetText(Option("accounting"), "generous", options).ok());
  EXPECT_FALSE(SetText(Option("order"), "-1", options).ok());
  EXPECT_FALSE(SetValue(Option("screen.top_tokens"), "60", options).ok());
  EXPECT_FALSE(SetValue(Option("mechanism"), 1.0, options).ok());
}

TEST(OptionsTableTest, PathsThatThereAreNotAreRefused) {
  MechanismOptions options;
  SUBMIX_ASSERT_OK(SetTexts({{"clip.stretch", "2"}, {"order", "inf"}}, options));
  EXPECT_EQ(options.clip.stretch, 2);
  EXPECT_TRUE(options.order.is_infinite());
  EXPECT_THAT(SetTexts({{"clip.colour", "2"}}, options),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("clip.colour")));
}

TEST(OptionsTableTest, AGroupIsWrittenWholeOrNotAtAll) {
  MechanismOptions options;
  EXPECT_TRUE(IsWritten(Option("order"), options));
  EXPECT_FALSE(IsWritten(Option("clip.centre"), options));
  options.clip.stretch = 2;
  EXPECT_TRUE(IsWritten(Option("clip.centre"), options));
  EXPECT_FALSE(IsWritten(Option("screen.threshold"), options));
  EXPECT_FALSE(IsWritten(Option("ball_radius"), options));
}

TEST(OptionsTableTest, TheDocumentHasTheTable) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string document,
                              base::ReadFile(SUBMIX_TESTDATA_DIR "/../docs/mechanism_options.md"));
  EXPECT_THAT(document, HasSubstr(OptionsAsMarkdown())) << OptionsAsMarkdown();
}

}  // namespace options_table_test
}  // namespace submix::mechanism

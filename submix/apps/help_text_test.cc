#include "submix/apps/help_text.h"

#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::apps {
namespace help_text_test {

using ::testing::HasSubstr;

struct HelpTextTest : testing::Test {
  HelpTextTest()
      : app("A program whose description goes on for longer than a line of a terminal has room.") {
    app.formatter(std::make_shared<HelpText>());
  }

  std::string Help() const {
    std::istringstream lines(app.help());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
    return app.help();
  }

  CLI::App app;
  std::string value;
};

TEST_F(HelpTextTest, DescriptionsWrapInTheirColumn) {
  app.add_option("--tokens", value,
                 "Tokens that every part can surely pay for, with what --after counts in");
  EXPECT_THAT(
      Help(),
      HasSubstr("\n  --tokens TEXT             Tokens that every part can surely pay for, with\n"
                "                            what --after counts in\n"));
}

TEST_F(HelpTextTest, NamesThatGoOnAreNotTakenForOptions) {
  CLI::Option* const adapters = app.add_option("--adapters", value, "Each part's adapter");
  for (const char* other :
       {"--parts", "--batches", "--halves", "--heldout-fraction", "--partition-key"}) {
    adapters->excludes(app.add_option(other, value));
  }
  EXPECT_THAT(Help(), HasSubstr("\n      --"));
}

TEST_F(HelpTextTest, OptionsOfGroupsKeepWithinTheWidth) {
  CLI::App& group = *app.add_option_group("readers", "who reads the records");
  group.add_option("--public", value,
                   "This public model, for each part: a directory in Hugging Face's layout");
  EXPECT_THAT(Help(), HasSubstr("--public TEXT"));
}

TEST_F(HelpTextTest, SentencesAreSetAnewAndLongExamplesGoOnBehindABackslash) {
  app.footer(
      "One sentence.\nAnother one, which is so long that it does not fit behind the first one.\n"
      "Example: submix train text.jsonl my_model --public gpt2 --private dp-sgd --epsilon 8 "
      "--json\n"
      "         submix short");
  EXPECT_THAT(
      Help(),
      HasSubstr("\nOne sentence. Another one, which is so long that it does not fit behind the\n"
                "first one.\n"
                "Example: submix train text.jsonl my_model --public gpt2 --private dp-sgd \\\n"
                "             --epsilon 8 --json\n"
                "         submix short\n"));
}

}  // namespace help_text_test
}  // namespace submix::apps

#include "submix/train/recipes/training_options_table.h"

#include <set>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/model/testing/tiny_model.h"

namespace submix::train {
namespace training_options_table_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Parameters = std::map<std::string, std::string>;

TEST(TrainingOptionsTableTest, EveryOptionIsSaidOnce) {
  std::set<std::string_view> names, flags;
  for (const TrainingOption& option : TrainingOptionsTable()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(option.flag.empty() || flags.insert(option.flag).second) << option.flag;
    EXPECT_FALSE(option.help.empty()) << option.name;
  }
}

TEST(TrainingOptionsTableTest, WhatIsSetIsReadBackFromManifests) {
  FineTuneOptions options;
  options.block_tokens = 9;
  for (const TrainingOption& option : TrainingOptionsTable()) {
    if (!option.flag.empty()) {
      EXPECT_TRUE(SetText(option, option.is_whole() ? "3" : "0.25", options)) << option.name;
    }
  }
  options.learning_rate.decay = Decay::kLinear;
  SUBMIX_EXPECT_OK(CheckNumbers(options, model::TinyConfig()));
  Parameters kept;
  AddNumbers(options, kept);
  FineTuneOptions found;
  SUBMIX_ASSERT_OK(ReadNumbers(kept, found));
  EXPECT_EQ(found.learning_rate.decay, Decay::kLinear);
  for (const TrainingOption& option : TrainingOptionsTable()) {
    const bool is_kept = option.record == TrainingOption::Record::kAlways;
    EXPECT_EQ(kept.contains(std::string(option.name)), is_kept) << option.name;
    const FineTuneOptions& expected = is_kept ? options : FineTuneOptions();
    EXPECT_EQ(TextOf(option, found), TextOf(option, expected)) << option.name;
  }
}

TEST(TrainingOptionsTableTest, ManifestsKeepWhatTheyKept) {
  Parameters of_members, of_private;
  AddNumbers(FineTuneOptions(), of_members);
  AddNumbers(TrainingOptions(), of_private);
  EXPECT_EQ(of_members, (Parameters{{"epochs", "1"},
                                    {"batch_size", "8"},
                                    {"block_tokens", "129"},
                                    {"learning_rate", "0.0001"},
                                    {"warmup_fraction", "1"},
                                    {"warmup_steps", "0"},
                                    {"decay", "0"},
                                    {"final_fraction", "0"},
                                    {"weight_decay", "0"},
                                    {"gradient_clip", "1"}}));
  EXPECT_EQ(of_private, (Parameters{{"block_tokens", "129"},
                                    {"learning_rate", "0.0001"},
                                    {"warmup_fraction", "1"},
                                    {"weight_decay", "0"}}));
}

TEST(TrainingOptionsTableTest, CheckpointsDependOnWhatTheyDependedOn) {
  EXPECT_EQ(IdentityNumbers(TrainingOptions()),
            "129 0.0001 1 0 0 0 0.90000000000000002 0.999 1e-08 0");
  EXPECT_EQ(IdentityNumbers(FineTuneOptions()),
            "1 8 129 0.0001 1 0 0 0 0.90000000000000002 0.999 1e-08 0 1");
}

TEST(TrainingOptionsTableTest, ManifestsThatLackANumberOrHoldNonsenseAreRefusedByName) {
  Parameters good;
  AddNumbers(FineTuneOptions(), good);
  FineTuneOptions options;
  for (const auto& [name, value] : good) {
    Parameters bad = good;
    bad.erase(name);
    EXPECT_THAT(ReadNumbers(bad, options), StatusIs(StatusCode::kDataLoss, HasSubstr(name)));
    bad[name] = "much";
    EXPECT_THAT(ReadNumbers(bad, options), StatusIs(StatusCode::kDataLoss, HasSubstr(name)));
  }
  Parameters huge = good;
  huge["epochs"] = "1e300";
  EXPECT_THAT(ReadNumbers(huge, options), StatusIs(StatusCode::kDataLoss, HasSubstr("epochs")));
}

TEST(TrainingOptionsTableTest, ValuesOfAnotherKindAreRefused) {
  FineTuneOptions options;
  for (const TrainingOption& option : TrainingOptionsTable()) {
    for (const char* wrong : {"", "much", "1 2", "0x10"}) {
      EXPECT_FALSE(SetText(option, wrong, options)) << option.name << " " << wrong;
    }
    EXPECT_EQ(SetText(option, "0.5", options), !option.is_whole()) << option.name;
  }
}

TEST(TrainingOptionsTableTest, TheMostThatDependsOnTheModelIsSaidInWords) {
  TrainingOptions options;
  EXPECT_THAT(CheckNumbers(options, model::TinyConfig()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("block_tokens: expected 2 to 25 (the model's context and"),
                             HasSubstr("found 129"))));
}

TEST(TrainingOptionsTableTest, TheDocumentHasTheTable) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string document,
                              base::ReadFile(SUBMIX_TESTDATA_DIR "/../docs/training_options.md"));
  EXPECT_THAT(document, HasSubstr(TrainingOptionsAsMarkdown())) << TrainingOptionsAsMarkdown();
}

}  // namespace training_options_table_test
}  // namespace submix::train

#include "submix/eval/measuring/expected_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::eval {
namespace expected_answers_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr MeasuredModel kModel = MeasuredModel::kSmallGpt2;

// Blogs of 2,400 tokens a user, read once, as the law was fitted to.
ensemble::Manifest Blogs(int parts, std::int64_t users) {
  ensemble::Manifest manifest;
  manifest.num_parts = parts;
  manifest.users = users;
  manifest.hyper_parameters = {{"epochs", "1"}, {"batch_size", "4"}, {"block_tokens", "128"}};
  const std::int64_t steps = users * 2400 / parts / (4 * 128);
  ensemble::MemberEntry member;
  member.steps = steps;
  manifest.members.assign(static_cast<std::size_t>(parts), member);
  return manifest;
}

mechanism::MechanismOptions Declared(const std::string& name, int parts, double leakage) {
  mechanism::MechanismOptions declared;
  declared.name = name;
  declared.num_parts = parts;
  declared.order = *divergence::RenyiOrder::Create(8);
  declared.target_leakage = leakage;
  return declared;
}

TEST(ExpectedAnswersTest, KnowsWhatPlanKnows) {
  for (const char* name : {"dclip", "filtered-submix"}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto expected,
                                ExpectAnswers(Blogs(64, 3600), Declared(name, 64, 0.002), kModel));
    ASSERT_TRUE(expected.kept.has_value()) << name;
    EXPECT_THAT(expected.sentence, HasSubstr("expect about 0."));
  }
}

TEST(ExpectedAnswersTest, FewUsersUnderAStrictPromiseAreNearlyThePublicModel) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto expected,
      ExpectAnswers(Blogs(8, 60), Declared("filtered-submix", 8, 1e-6), std::nullopt));
  EXPECT_FALSE(expected.kept.has_value());
  EXPECT_THAT(expected.sentence, HasSubstr("nearly the public model's"));
  EXPECT_THAT(expected.sentence, HasSubstr("60 users in 8 parts"));
}

TEST(ExpectedAnswersTest, WhereNothingWasMeasuredItSaysHowFarAnswersGo) {
  ensemble::Manifest external = Blogs(64, 3600);
  external.members.clear();
  ensemble::Manifest above_private_training = Blogs(64, 3600);
  above_private_training.file_sha256["public/private_training.json"] = {};
  for (const auto& [manifest, model] : {std::pair(Blogs(64, 3600), std::optional<MeasuredModel>()),
                                        std::pair(external, std::optional(kModel)),
                                        std::pair(above_private_training, std::optional(kModel))}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto expected,
                                ExpectAnswers(manifest, Declared("dclip", 64, 0.002), model));
    EXPECT_FALSE(expected.kept.has_value());
    EXPECT_THAT(expected.sentence, HasSubstr("nothing like it was measured"));
  }
}

TEST(ExpectedAnswersTest, OfOtherMechanismsNothingIsKnown) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto expected, ExpectAnswers(Blogs(64, 3600), Declared("pmixed", 64, 0.002), kModel));
  EXPECT_FALSE(expected.kept.has_value());
  EXPECT_THAT(expected.sentence, IsEmpty());
}

}  // namespace expected_answers_test
}  // namespace submix::eval

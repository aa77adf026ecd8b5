#include "submix/workbench/attacking/attack_target.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/testing/written_ensemble.h"

namespace submix::workbench {
namespace attack_target_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

// An ensemble that can be read as far as its tokenizer.
class AttackTargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string bundled = std::string(SUBMIX_DATA_DIR) + "/public_model/";
    std::map<std::string, std::string> files;
    for (const char* name : {"config.json", "vocab.json", "merges.txt"}) {
      files[name] = base::ReadFile(bundled + name).value();
    }
    ensemble::Manifest manifest;
    manifest.num_parts = 4;
    ensemble::WriteEnsemble(ensemble_, manifest, "a", files);
    request_.directory = ensemble_;
  }

  base::TemporaryDirectory directory_;
  const std::string ensemble_ = directory_.File("ensemble");
  AttackRequest request_;
};

TEST_F(AttackTargetTest, AMechanismIsAttackedUnderEveryBudgetAsDeployDeclaresIt) {
  request_.against = {"dclip"};
  request_.epsilons = {2, 4};
  request_.tokens = 100;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto target, LoadTarget(request_));
  ASSERT_EQ(target.mechanisms.size(), 2u);
  EXPECT_EQ(target.mechanisms[0].options.target_leakage, 0.02);
  EXPECT_EQ(target.mechanisms[1].options.target_leakage, 0.04);
  EXPECT_EQ(target.mechanisms[0].options.order.ToString(), "8");
  EXPECT_EQ(target.mechanisms[0].Guarantee(), "sound");
}

TEST_F(AttackTargetTest, WhatIsSaidOfTheMechanismHolds) {
  request_.against = {"dclip"};
  request_.said = {{"order", "2"}, {"target_leakage", "0.5"}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto target, LoadTarget(request_));
  EXPECT_EQ(target.mechanisms[0].options.target_leakage, 0.5);
  EXPECT_EQ(target.mechanisms[0].options.order.ToString(), "2");
}

TEST_F(AttackTargetTest, OneBudgetIsEnoughForWhatIsNotPrivateOrKnowsNothing) {
  request_.epsilons = {1, 2, 4};
  request_.against = {"public", "ensemble"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto target, LoadTarget(request_));
  EXPECT_EQ(target.mechanisms.size(), 2u);
  EXPECT_EQ(target.mechanisms[1].Guarantee(), "none");
}

TEST_F(AttackTargetTest, ADeploymentsOwnMechanismComesFirst) {
  engine::DeploymentOptions options;
  options.mechanism.name = "dclip";
  options.mechanism.target_leakage = 0.25;
  options.epsilon = 3;
  SUBMIX_ASSERT_OK(engine::CreateDeployment(directory_.File("deployed"), ensemble_, options));
  request_.directory = directory_.File("deployed");
  request_.against = {"filtered-submix"};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto target, LoadTarget(request_));
  ASSERT_EQ(target.mechanisms.size(), 2u);
  EXPECT_EQ(target.mechanisms[0].options.name, "dclip");
  EXPECT_EQ(target.mechanisms[0].epsilon, 3);
  EXPECT_EQ(target.ensemble.directory(), ensemble_);
}

TEST_F(AttackTargetTest, MembersAreAttackedOnlyWhereTheyAnswer) {
  request_.against = {kMembers};
  EXPECT_THAT(LoadTarget(request_).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("members serve no mixture")));
  request_.takes_members = true;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto target, LoadTarget(request_));
  EXPECT_TRUE(target.attacks_members);
  EXPECT_TRUE(target.mechanisms.empty());
}

}  // namespace attack_target_test
}  // namespace submix::workbench

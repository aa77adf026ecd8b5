#include "submix/workbench/declaration.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/mechanism/declaring/recommended_options.h"

namespace submix::workbench {
namespace declaration_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

// An ensemble as far as files and manifest go.
class DeclarationTest : public testing::Test {
 protected:
  void SetUp() override {
    ensemble::Manifest manifest;
    manifest.num_parts = 4;
    manifest.users = 12;
    ensemble::WriteEnsemble(ensemble_, manifest);
    declaration_.ensemble_directory = ensemble_;
    declaration_.deployment_directory = directory_.File("deployment");
  }

  // What is declared in the deployment that is made.
  mechanism::MechanismOptions Declared() const {
    SUBMIX_EXPECT_OK(Declare(declaration_));
    return engine::LoadDeploymentConfig(declaration_.deployment_directory)
        .value()
        .options.mechanism;
  }

  base::TemporaryDirectory directory_;
  const std::string ensemble_ = directory_.File("ensemble");
  Declaration declaration_;
};

TEST_F(DeclarationTest, NothingSaidIsWhatIsRecommended) {
  declaration_.options.mechanism.name = "dclip";
  mechanism::MechanismOptions recommended;
  recommended.name = "dclip";
  mechanism::Recommend(4, declaration_.tokens, recommended);
  const mechanism::MechanismOptions declared = Declared();
  EXPECT_EQ(declared.num_parts, 4);
  EXPECT_EQ(declared.order, mechanism::RecommendedOrder());
  EXPECT_EQ(declared.clip, recommended.clip);
  EXPECT_EQ(declared.target_leakage, declaration_.options.epsilon / 1024);
}

TEST_F(DeclarationTest, WhatIsSaidHolds) {
  declaration_.tokens = 16;
  declaration_.said = {{"max_mixing_weight", "0.25"}, {"order", "4"}, {"target_leakage", "0.5"}};
  const mechanism::MechanismOptions declared = Declared();
  EXPECT_EQ(declared.max_mixing_weight, .25);
  EXPECT_EQ(declared.order.value(), 4);
  EXPECT_EQ(declared.target_leakage, .5);
}

TEST_F(DeclarationTest, APromiseToUsersIsKeptByTheBudgetOfAPart) {
  declaration_.for_users = true;
  declaration_.options.epsilon = 8;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const engine::Deployment planned, PlanDeclared(declaration_));
  EXPECT_LT(planned.config.options.epsilon, 8);
  EXPECT_FALSE(base::FileExists(declaration_.deployment_directory)) << "a plan writes nothing";
  const mechanism::MechanismOptions declared = Declared();
  EXPECT_EQ(declared.order, planned.config.options.mechanism.order);
  EXPECT_EQ(declared.target_leakage, planned.config.options.mechanism.target_leakage);
}

TEST_F(DeclarationTest, WhatCannotBeDeclaredMakesNothing) {
  const auto is_refused = [&](const char* word) {
    EXPECT_THAT(Declare(declaration_), StatusIs(StatusCode::kInvalidArgument, HasSubstr(word)));
    EXPECT_THAT(PlanDeclared(declaration_),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(word)));
    EXPECT_FALSE(base::FileExists(declaration_.deployment_directory));
  };
  declaration_.tokens = 0;
  is_refused("queries");
  declaration_.tokens = 16;
  declaration_.said = {{"clip.colour", "1"}};
  is_refused("clip.colour");
  declaration_.said = {{"max_mixing_weight", "7"}};
  is_refused("max_mixing_weight");
  declaration_.said = {{"target_leakage", "0.1"}};
  declaration_.for_users = true;
  is_refused("leave it out");
}

TEST_F(DeclarationTest, ADeltaThatIsLargeForSoManyUsersIsSaidToTheOperator) {
  declaration_.options.delta = .1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const engine::Deployment large, PlanDeclared(declaration_));
  EXPECT_THAT(CautionOf(large), HasSubstr("For you alone"));
  declaration_.options.delta = 1e-6;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const engine::Deployment small, PlanDeclared(declaration_));
  EXPECT_EQ(CautionOf(small), "");
}

// Contract 2, for models that are nowhere in the ensemble.
TEST_F(DeclarationTest, TheSameExternalModelsAreDeployedOnce) {
  declaration_.external =
      ExternalEnsemble{.digest = std::string(64, 'a'), .parts = 2, .vocabulary = 100};
  declaration_.ensemble_directory = directory_.File("models");
  SUBMIX_ASSERT_OK(Declare(declaration_));
  Declaration again = declaration_;
  again.ensemble_directory = directory_.File("the_same_models");
  again.deployment_directory = directory_.File("again");
  EXPECT_THAT(Declare(again),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("the same external ensemble")));
  EXPECT_FALSE(base::FileExists(again.ensemble_directory));
  again.after = {declaration_.deployment_directory};
  again.options.epsilon = 5;
  SUBMIX_EXPECT_OK(Declare(again));
  // Others are nobody's concern.
  again = declaration_;
  again.external->digest = std::string(64, 'b');
  again.ensemble_directory = directory_.File("other_models");
  again.deployment_directory = directory_.File("other");
  SUBMIX_EXPECT_OK(Declare(again));
}

TEST_F(DeclarationTest, ADigestIsSixtyFourDigits) {
  declaration_.external = ExternalEnsemble{.digest = "abc", .parts = 2, .vocabulary = 100};
  EXPECT_THAT(Declare(declaration_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--external: expected 64")));
  declaration_.external->digest = std::string(64, 'a');
  declaration_.external->public_digest = "abc";
  EXPECT_THAT(Declare(declaration_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--public-digest")));
}

TEST_F(DeclarationTest, EachBatchOfUsersIsDeclaredForItself) {
  for (int batch = 0; batch < 3; ++batch) {
    ensemble::WriteEnsemble(ensemble::BatchDirectory(directory_.File("batches"), batch, 3), 4);
  }
  declaration_.ensemble_directory = directory_.File("batches");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto batches, ForBatches(declaration_));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_NE(batches[0].ensemble_directory, batches[1].ensemble_directory);
  EXPECT_NE(batches[0].deployment_directory, batches[1].deployment_directory);
  for (const Declaration& batch : batches) SUBMIX_EXPECT_OK(Declare(batch));
  declaration_.after = {batches[0].deployment_directory};
  EXPECT_THAT(ForBatches(declaration_).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one by one")));
}

TEST_F(DeclarationTest, WithoutBatchesItIsTheDeclarationItself) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto all, ForBatches(declaration_));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].deployment_directory, declaration_.deployment_directory);
}

}  // namespace declaration_test
}  // namespace submix::workbench

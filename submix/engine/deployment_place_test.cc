#include "submix/engine/deployment_place.h"

#include <filesystem>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/earlier_deployments.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"

namespace submix::engine {
namespace deployment_place_test {

using base::StatusCode;
using base::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

// HOME/ensemble and HOME/deployment; nothing was asked yet.
class DeploymentPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.mechanism.target_leakage = 0.01;
    MakeEnsemble(home_ + "/ensemble");
    SUBMIX_ASSERT_OK(CreateDeployment(home_ + "/deployment", home_ + "/ensemble", options_));
  }

  static void MakeEnsemble(const std::string& place, const std::string& adapter = "a") {
    ensemble::WriteEnsemble(place, 1, adapter);
  }

  void Move(const std::string& from, const std::string& to) {
    SUBMIX_ASSERT_OK(base::Rename(directory_.File(from), directory_.File(to)));
  }
  void Copy(const std::string& from, const std::string& to) {
    std::filesystem::copy(directory_.File(from), directory_.File(to),
                          std::filesystem::copy_options::recursive);
  }
  base::Status Open(const std::string& place,
                    DeploymentAccess access = DeploymentAccess::kCharge) const {
    return OpenDeployment(directory_.File(place), access).status();
  }
  base::Status Relocate(const std::string& place, const std::string& ensemble) const {
    return engine::Relocate(directory_.File(place),
                            ensemble.empty() ? ensemble : directory_.File(ensemble));
  }

  base::TemporaryDirectory directory_;
  const std::string home_ = directory_.File("home");
  DeploymentOptions options_;
};

TEST_F(DeploymentPlaceTest, BothMovedTogetherOpenAsTheyAre) {
  Move("home", "elsewhere");
  SUBMIX_EXPECT_OK(Open("elsewhere/deployment"));
}

TEST_F(DeploymentPlaceTest, AnEnsembleMovedAloneIsNamedOnce) {
  Move("home/ensemble", "models");
  EXPECT_THAT(Open("home/deployment"),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("its ensemble is not at "),
                             HasSubstr("submix relocate " + home_ + "/deployment --ensemble"))));
  SUBMIX_ASSERT_OK(Relocate("home/deployment", "models"));
  SUBMIX_EXPECT_OK(Open("home/deployment"));
}

TEST_F(DeploymentPlaceTest, ADeploymentMovedAloneFindsItsEnsemble) {
  Move("home/deployment", "serving");
  SUBMIX_EXPECT_OK(Open("serving"));
}

TEST_F(DeploymentPlaceTest, AnotherEnsembleOfItsNameIsNotTaken) {
  MakeEnsemble(directory_.File("other"), "b");
  EXPECT_THAT(Relocate("home/deployment", "other"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the ensemble that")));
  // The same files, made anew: it lists no deployment.
  MakeEnsemble(directory_.File("twin"));
  EXPECT_THAT(Relocate("home/deployment", "twin"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the ensemble that")));
  // Other files, under a manifest that lists it all the same.
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto forged, ensemble::LoadManifest(directory_.File("other")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto own, ensemble::LoadManifest(home_ + "/ensemble"));
  forged.deployments = own.deployments;
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(forged, directory_.File("other")));
  EXPECT_THAT(Relocate("home/deployment", "other"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the ensemble that")));
  SUBMIX_EXPECT_OK(Open("home/deployment"));
}

TEST_F(DeploymentPlaceTest, ACopyBesideItsOriginalOrElsewhereNeverAnswers) {
  Copy("home/deployment", "home/copy");
  Copy("home", "backup");
  for (const char* copy : {"home/copy", "backup/deployment"}) {
    EXPECT_THAT(Open(copy), StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("a copy of the deployment " + home_)))
        << copy;
    // Nor can it be declared the original.
    EXPECT_THAT(Relocate(copy, ""),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a copy of the deployment")))
        << copy;
    // An auditor reads a backup.
    SUBMIX_EXPECT_OK(Open(copy, DeploymentAccess::kReadOnly));
  }
  SUBMIX_EXPECT_OK(Open("home/deployment"));
}

TEST_F(DeploymentPlaceTest, OfTwoMovedCopiesOneIsNamed) {
  Move("home/deployment", "home/renamed");
  Copy("home/renamed", "home/copy");
  for (const char* place : {"home/renamed", "home/copy"}) {
    EXPECT_THAT(Open(place),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("one deployment with")));
  }
  SUBMIX_ASSERT_OK(Relocate("home/renamed", ""));
  SUBMIX_EXPECT_OK(Open("home/renamed"));
  EXPECT_THAT(Open("home/copy"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a copy of the deployment")));
}

TEST_F(DeploymentPlaceTest, ManifestsWithoutAPlaceKnowTheDeploymentByItsName) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(home_ + "/ensemble"));
  manifest.deployments.front().directory.clear();
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, home_ + "/ensemble"));
  Copy("home/deployment", "home/copy");
  SUBMIX_EXPECT_OK(Open("home/deployment"));
  EXPECT_THAT(Open("home/copy"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("one deployment with")));
}

TEST_F(DeploymentPlaceTest, AnEarlierDeploymentWhoseEnsembleIsGoneSaysHowToNameIt) {
  MakeEnsemble(directory_.File("next"), "b");
  Move("home/ensemble", "models");
  EXPECT_THAT(CreateDeployment(directory_.File("later"), directory_.File("next"), options_, "",
                               mechanism::MakeMechanism, {home_ + "/deployment"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("submix relocate")));
}

}  // namespace deployment_place_test
}  // namespace submix::engine

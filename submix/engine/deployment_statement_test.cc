#include "submix/engine/deployment_statement.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"

namespace submix::engine {
namespace deployment_statement_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kCost =
    R"({"format": 1, "mechanism": "dp-sgd", "unit": "user", "sampling_probability": 0.01,
        "noise_multiplier": 1.1, "steps": 500, "delta": 1e-5, "epsilon": 3})";

class DeploymentStatementTest : public testing::Test {
 protected:
  // A deployment whose public model has this cost file ("" for none).
  base::StatusOr<Deployment> Deploy(const std::string& cost, const std::string& trained_on,
                                    const std::string& mechanism) {
    const std::string ensemble = directory_.File("ensemble" + std::to_string(++number_));
    ensemble::Manifest manifest;
    manifest.num_parts = 1;
    if (!trained_on.empty()) manifest.hyper_parameters["public_trained_on"] = trained_on;
    ensemble::WriteEnsemble(ensemble, manifest, "a", ensemble::PublicFilesOf(cost));
    DeploymentOptions options;
    options.mechanism.name = mechanism;
    options.mechanism.target_leakage = 0.01;
    options.mechanism.order = divergence::RenyiOrder::Create(8).value();
    SUBMIX_RETURN_IF_ERROR(CreateDeployment(ensemble + "_deployed", ensemble, options).status());
    return OpenDeployment(ensemble + "_deployed", DeploymentAccess::kReadOnly);
  }

  accounting::Promise Promised(const std::string& cost, const std::string& trained_on,
                               const std::string& mechanism = "filtered-submix") {
    const auto deployment = Deploy(cost, trained_on, mechanism);
    SUBMIX_EXPECT_OK(deployment);
    return DeploymentPromise(*deployment);
  }

  base::TemporaryDirectory directory_;
  int number_ = 0;
};

TEST_F(DeploymentStatementTest, APublicModelThatIsPublicChangesNothing) {
  const accounting::Promise promise = Promised("", "");
  EXPECT_THAT(promise.columns, ElementsAre("user", "part"));
  EXPECT_THAT(promise.rows[2].cells[1], "all text of the users in one part");
  EXPECT_THAT(promise.ToText(), Not(HasSubstr("dp-sgd")));
}

TEST_F(DeploymentStatementTest, TheSameUsersAreTheDefaultAndLoseTheirPartLevelStatement) {
  for (const char* trained_on : {"", "same-users", "who knows"}) {
    const accounting::Promise promise = Promised(kCost, trained_on);
    EXPECT_THAT(promise.sentence, HasSubstr("all answers and the public model together"));
    EXPECT_THAT(promise.rows[0].cells[1], StartsWith("nothing follows"));
    EXPECT_THAT(promise.rows[1].cells[1], "-");
  }
  const accounting::Promise other = Promised(kCost, "other-users");
  EXPECT_THAT(other.columns, ElementsAre("user", "part", "user of the public model"));
  EXPECT_THAT(other.rows[1].cells[1], HasSubstr("nats at order 8"));
}

TEST_F(DeploymentStatementTest, ThePublicMechanismCostsWhatItsModelCost) {
  const accounting::Promise promise = Promised(kCost, "", "public");
  EXPECT_EQ(promise.rows[2].cells[0], "all text of one user key");
  EXPECT_EQ(promise.rows[3].cells[0], "present or absent");
  EXPECT_THAT(promise.ToText(), Not(HasSubstr("(0, 1e-06)")));
}

// What GuaranteeOfUser says is what people read.
TEST_F(DeploymentStatementTest, NumbersOfOneUserAreThoseOfThePromise) {
  const struct {
    const char* cost;
    const char* trained_on;
    accounting::Adjacency adjacency;
  } kCases[] = {{"", "", accounting::Adjacency::kReplace},
                {kCost, "", accounting::Adjacency::kPresence},
                {kCost, "other-users", accounting::Adjacency::kReplace}};
  for (const auto& one : kCases) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment,
                                Deploy(one.cost, one.trained_on, "filtered-submix"));
    const auto user = GuaranteeOfUser(deployment);
    ASSERT_TRUE(user.has_value());
    EXPECT_THAT(DeploymentPromise(deployment).rows[0].cells[0],
                StartsWith("(" + accounting::FormatCost(user->bound.epsilon) + ", 1e-06)"));
    EXPECT_EQ(user->adjacency, one.adjacency);
  }
}

TEST_F(DeploymentStatementTest, NothingIsDeployedAboveAModelThatPromisesNothing) {
  EXPECT_THAT(Deploy("{}", "", "public"),
              base::StatusIs(base::StatusCode::kInvalidArgument, HasSubstr("format")));
  std::string without_noise = kCost;
  without_noise.replace(without_noise.find("1.1"), 3, "0.0");
  EXPECT_THAT(Deploy(without_noise, "other-users", "public"),
              base::StatusIs(base::StatusCode::kFailedPrecondition, HasSubstr("without noise")));
}

}  // namespace deployment_statement_test
}  // namespace submix::engine

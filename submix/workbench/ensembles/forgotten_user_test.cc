#include "submix/workbench/ensembles/forgotten_user.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/batches.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/workbench/ensembles/testing/lettered_contexts.h"

namespace submix::workbench {
namespace forgotten_user_test {

using base::StatusCode;
using base::StatusIs;
using ensemble::OpenedEnsemble;
using ::testing::HasSubstr;

class ForgottenUserTest : public ::testing::Test {
 protected:
  void SetUp() override { made_.partition.heldout_fraction = 0.5; }

  std::vector<OpenedEnsemble> Make() {
    const auto plan = ContextsPlan::Create(made_);
    SUBMIX_EXPECT_OK(plan);
    return plan->Make()->ensembles;
  }
  ForgetRequest Request(const std::string& user, bool with_corpus = true) const {
    ForgetRequest request;
    request.ensemble = made_.ensemble;
    if (with_corpus) request.corpus = made_.corpus;
    request.user = user;
    return request;
  }

  base::TemporaryDirectory directory_;
  ContextsRequest made_ = LetteredContexts(directory_, 'z');
};

TEST_F(ForgottenUserTest, HeldOutUsersAreToldFromWrongKeys) {
  const OpenedEnsemble ensemble = Make().front();
  int held_out = 0;
  for (char user = 'a'; user <= 'z'; ++user) {
    const auto found = WasHeldOut(Request({user}), ensemble);
    SUBMIX_ASSERT_OK(found);
    held_out += *found;
  }
  EXPECT_EQ(held_out, 26 - *ensemble.manifest().users);
  EXPECT_THAT(WasHeldOut(Request("nobody"), ensemble),
              StatusIs(StatusCode::kNotFound, HasSubstr("no record of this user")));
  EXPECT_THAT(WasHeldOut(Request("nobody", /*with_corpus=*/false), ensemble),
              StatusIs(StatusCode::kNotFound, HasSubstr("with --corpus")));
}

TEST_F(ForgottenUserTest, EveryUserIsForgottenInOneBatch) {
  made_.batches = 3;
  const std::vector<OpenedEnsemble> batches = Make();
  ForgetRequest request = Request("c");
  request.deployment = directory_.File("deployments");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const ForgetRequest found, InItsBatch(request));
  int holding = 0;
  for (int batch = 0; batch < 3; ++batch) {
    if (found.ensemble != batches[static_cast<std::size_t>(batch)].directory()) continue;
    ++holding;
    EXPECT_EQ(found.deployment, ensemble::BatchDirectory(request.deployment, batch, 3));
  }
  EXPECT_EQ(holding, 1);
}

TEST_F(ForgottenUserTest, TheLedgerOfItsOwnDeploymentGoesOn) {
  const std::string place = directory_.File("deployed");
  ensemble::WriteEnsemble(place, 2);
  ForgetRequest request;
  request.ensemble = place;
  SUBMIX_EXPECT_OK(CheckNamesItsDeployment(request, *OpenedEnsemble::Open(place)));
  engine::DeploymentOptions options;
  options.mechanism.target_leakage = 0.01;
  SUBMIX_ASSERT_OK(engine::CreateDeployment(directory_.File("answers"), place, options));
  const OpenedEnsemble deployed = *OpenedEnsemble::Open(place);
  EXPECT_THAT(CheckNamesItsDeployment(request, deployed),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("deployed as answers")));
  request.deployment = directory_.File("answers");
  SUBMIX_EXPECT_OK(CheckNamesItsDeployment(request, deployed));
  ensemble::WriteEnsemble(directory_.File("other"), 2, "b");
  SUBMIX_ASSERT_OK(engine::CreateDeployment(directory_.File("other_answers"),
                                            directory_.File("other"), options));
  request.deployment = directory_.File("other_answers");
  EXPECT_THAT(CheckNamesItsDeployment(request, deployed),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another ensemble")));
}

}  // namespace forgotten_user_test
}  // namespace submix::workbench

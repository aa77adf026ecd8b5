#include "submix/eval/pages/report.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"

namespace submix::eval {
namespace report_test {

using base::StatusCode;
using base::StatusIs;
using engine::DeploymentAccess;
using testing::HasSubstr;
using testing::Not;

// A deployment as far as its files go, and a directory of results.
class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    ensemble::Manifest manifest;
    manifest.num_parts = 2;
    manifest.hyper_parameters["rank"] = "8";
    ensemble::WriteEnsemble(ensemble_, manifest);
    SUBMIX_ASSERT_OK(base::MakeDirectories(results_));
  }

  base::StatusOr<std::string> Page(const std::string& mechanism) {
    engine::DeploymentOptions options;
    options.mechanism.name = mechanism;
    options.mechanism.target_leakage = 0.01;
    SUBMIX_RETURN_IF_ERROR(
        engine::CreateDeployment(directory_.File("deployment"), ensemble_, options).status());
    SUBMIX_ASSIGN_OR_RETURN(
        const auto deployment,
        engine::OpenDeployment(directory_.File("deployment"), DeploymentAccess::kReadOnly));
    return DeploymentReport(deployment, {results_});
  }

  void WriteResult(const std::string& name, const std::string& content) {
    SUBMIX_ASSERT_OK(base::WriteFile(base::JoinPath(results_, name), content));
  }

  base::TemporaryDirectory directory_;
  const std::string ensemble_ = directory_.File("ensemble");
  const std::string results_ = directory_.File("results");
};

TEST_F(ReportTest, NumbersOfAnotherEnsembleAreNoEvidence) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(ensemble_));
  const std::string own = base::ToHex(ensemble::EnsembleFingerprint(manifest));
  WriteResult("others.csv", "model,ensemble\ndclip," + own + "\ndclip,abc\n");
  WriteResult("own.csv", "model,ensemble\ndclip," + own + "\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page, Page("filtered-submix"));
  const std::string warning =
      "NO EVIDENCE ABOUT THIS DEPLOYMENT: measured on the ensemble with fingerprint ";
  EXPECT_THAT(page, HasSubstr(warning + "abc."));
  EXPECT_THAT(page, Not(HasSubstr(warning + own)));
}

TEST_F(ReportTest, SaysWhatIsPromisedSpentFoundAndWhereItComesFrom) {
  WriteResult("extraction.csv", "law,rate,\"what, exactly\"\nmembers,0.5,\"a \"\"hit\"\" <b>\"\n");
  WriteResult("extraction.svg", "<?xml version=\"1.0\"?>\n<svg>drawn</svg>\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page, Page("filtered-submix"));
  EXPECT_THAT(page, HasSubstr("<h2>What is promised</h2>\n<p>Whatever anybody asks, all answers "
                              "together are (45.2, 1e-06)-differentially private"));
  EXPECT_THAT(page, HasSubstr("<th>one user</th><th>one part</th>"));
  EXPECT_THAT(page, HasSubstr("<td>unit</td><td>all text of one user key</td><td>all text of the "
                              "users in one part</td>"));
  EXPECT_THAT(page, HasSubstr("<td>holds for</td><td>every data set</td><td>every data set</td>"));
  EXPECT_THAT(page, HasSubstr("<td>proof</td><td>proven: docs/privacy.md, "));
  EXPECT_THAT(page, HasSubstr("is whole, and its sums are the accounts'"));
  EXPECT_THAT(page, HasSubstr("<td>rank</td><td>8</td>"));
  EXPECT_THAT(page, HasSubstr("<svg>drawn</svg>"));
  EXPECT_THAT(page, Not(HasSubstr("<?xml")));
  EXPECT_THAT(page, HasSubstr("<th>what, exactly</th>"));
  EXPECT_THAT(page, HasSubstr("<td>a &quot;hit&quot; &lt;b&gt;</td>"));
  EXPECT_THAT(page, HasSubstr("</html>"));
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST_F(ReportTest, RefusesWhatIsNoTable) {
  WriteResult("cut.csv", "a,b\n1,2\n3\n");
  EXPECT_THAT(Page("dclip"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("cut.csv, line 3")));
}

TEST_F(ReportTest, ADirectoryWithoutResultsIsAMistake) {
  EXPECT_THAT(Page("dclip"), StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds no .csv")));
}

}  // namespace report_test
}  // namespace submix::eval

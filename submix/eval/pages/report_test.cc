#include "submix/eval/pages/report.h"

#include <map>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/eval/pages/guideline_points.h"

namespace submix::eval {
namespace report_test {

using base::JsonObject;
using base::StatusCode;
using base::StatusIs;
using engine::DeploymentAccess;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr std::time_t kDate = 1'790'000'000;

constexpr const char* kCost =
    R"({"format": 1, "mechanism": "dp-sgd", "unit": "user", "sampling_probability": 0.01,
        "noise_multiplier": 1.1, "steps": 500, "delta": 1e-5, "epsilon": 3})";

// A deployment as far as its files go, and a directory of results.
class ReportTest : public testing::Test {
 protected:
  void SetUp() override { SUBMIX_ASSERT_OK(base::MakeDirectories(results_)); }

  void WriteEnsembleOf(const std::string& training_cost) {
    ensemble::Manifest manifest;
    manifest.num_parts = 2;
    manifest.hyper_parameters["rank"] = "8";
    ensemble::WriteEnsemble(ensemble_, manifest, "a", ensemble::PublicFilesOf(training_cost));
  }

  base::StatusOr<engine::Deployment> Deploy(const std::string& mechanism, double epsilon = 2,
                                            const std::string& training_cost = "") {
    WriteEnsembleOf(training_cost);
    engine::DeploymentOptions options;
    options.mechanism.name = mechanism;
    options.mechanism.target_leakage = 0.01;
    options.mechanism.order = divergence::RenyiOrder::Create(8).value();
    options.epsilon = epsilon;
    SUBMIX_RETURN_IF_ERROR(
        engine::CreateDeployment(directory_.File("deployment"), ensemble_, options).status());
    return engine::OpenDeployment(directory_.File("deployment"), DeploymentAccess::kReadOnly);
  }

  base::StatusOr<std::string> Page(const std::vector<Measurement>& measurements = {},
                                   const std::vector<std::string>& directories = {}) {
    SUBMIX_ASSIGN_OR_RETURN(const auto deployment, Deploy("filtered-submix"));
    return DeploymentReport({deployment, "reviews", kDate, declared_}, measurements, directories);
  }

  // Of this deployment's ensemble, or another's.
  Measurement Audit(const std::string& verdict, std::time_t measured,
                    const std::string& ensemble = "") {
    const auto measurement = MakeMeasurement(
        {"audit epsilon", "an audit", measured, ensemble.empty() ? Fingerprint() : ensemble},
        R"([{"model": "dclip", "delta": 1e-5, "claimed_epsilon": 12.13,
             "epsilon_at_least": 2.55882, "verdict": ")" +
            verdict + "\"}]");
    SUBMIX_EXPECT_OK(measurement);
    return *measurement;
  }

  std::string Fingerprint() {
    WriteEnsembleOf("");
    const auto manifest = ensemble::LoadManifest(ensemble_);
    SUBMIX_EXPECT_OK(manifest);
    return base::ToHex(ensemble::EnsembleFingerprint(*manifest));
  }

  void WriteResult(const std::string& name, const std::string& content) {
    SUBMIX_ASSERT_OK(base::WriteFile(base::JoinPath(results_, name), content));
  }

  base::TemporaryDirectory directory_;
  const std::string ensemble_ = directory_.File("ensemble");
  const std::string results_ = directory_.File("results");
  DeclaredStatements declared_;
};

TEST_F(ReportTest, SaysWhatIsPromisedSpentNotCoveredAndWhereItComesFrom) {
  declared_["retention"] = "30 days & <no> more";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page, Page());
  EXPECT_THAT(page, HasSubstr("<h1>Privacy report: reviews</h1>\n<p class=\"note\">21 September "
                              "2026."));
  EXPECT_THAT(page, HasSubstr("<p class=\"lead\">Whatever anybody asks, all answers together are "
                              "(7.804, 1e-06)-differentially private for one user's text.</p>"));
  EXPECT_THAT(page, HasSubstr("Read aloud: whatever is asked, no answers together are more than "
                              "2,451 times as likely"));
  EXPECT_THAT(page, HasSubstr("aria-label=\"0 of 2 nats (0 %) spent\"><span style=\"width:0%\">"));
  EXPECT_THAT(page,
              HasSubstr("Every part can surely back 200 more tokens. The ledger's chain of "));
  EXPECT_THAT(page, HasSubstr("Not run on this deployment: attack extraction, attack exposure, "));
  EXPECT_THAT(page, HasSubstr("<li>The operator, who holds text, members and ledger."));
  EXPECT_THAT(page, HasSubstr("<dt>How long things are kept<dd>30 days &amp; &lt;no&gt; more"));
  EXPECT_THAT(page, HasSubstr("<dt>Who holds the keys<dd>not declared"));
  EXPECT_THAT(page, HasSubstr("<th>one user</th><th>one part</th>"));
  EXPECT_THAT(page, HasSubstr("<td>rank</td><td>8</td>"));
  EXPECT_THAT(page, HasSubstr("<code>submix audit timing</code>"));
}

TEST_F(ReportTest, NeedsNothingFromOutside) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page, Page());
  for (const char* outside :
       {"http://", "https://", "<script", "<link", "<img", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  for (const char* for_all :
       {"prefers-color-scheme:dark", "@media print", "width=device-width", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(for_all));
  }
}

TEST_F(ReportTest, TheNewestOfAKindIsShownAndWhatWasRefutedStays) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page,
                              Page({Audit("not refuted", kDate), Audit("no claim", kDate - 86'400),
                                    Audit("REFUTED", kDate - 864'000)}));
  const std::size_t newest = page.find("That is not refuted");
  const std::size_t refuted = page.find("<p class=\"bad\">Transcripts");
  const std::size_t folded = page.find("<summary>Earlier</summary>");
  const std::size_t other = page.find("Nothing is promised.");
  ASSERT_NE(other, std::string::npos);
  EXPECT_LT(newest, refuted);
  EXPECT_LT(refuted, folded);
  EXPECT_LT(folded, other);
  EXPECT_THAT(page, HasSubstr("Measured on 11 September 2026: an audit."));
  EXPECT_THAT(page, Not(HasSubstr("attack membership, audit epsilon")));
}

TEST_F(ReportTest, NumbersOfAnotherEnsembleAreNoEvidence) {
  const std::string own = Fingerprint();
  WriteResult("others.csv", "model,ensemble\ndclip," + own + "\ndclip,abc\n");
  WriteResult("own.csv", "model,ensemble\ndclip," + own + "\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page,
                              Page({Audit("not refuted", kDate, "def")}, {results_}));
  const std::string warning =
      "NO EVIDENCE ABOUT THIS DEPLOYMENT: measured on the ensemble with fingerprint ";
  EXPECT_THAT(page, HasSubstr(warning + "abc."));
  EXPECT_THAT(page, HasSubstr(warning + "def."));
  EXPECT_THAT(page, Not(HasSubstr(warning + own)));
  EXPECT_THAT(page, Not(HasSubstr("That is not refuted")));
}

TEST_F(ReportTest, TablesHaveFourDigitsAndSayOnceWhatIsTheSameInEveryRow) {
  WriteResult("extraction.csv",
              "law,hit_rate,\"what, exactly\",promise,runs\n"
              "members,2.0915801080152483,\"a \"\"hit\"\" <b>\",unit: part,12345\n"
              "members,1e-06,,unit: part,3\n");
  WriteResult("extraction.svg", "<?xml version=\"1.0\"?>\n<svg>drawn</svg>\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string page, Page({}, {results_}));
  EXPECT_THAT(page, HasSubstr("<summary>Numbers of results: extraction</summary>"));
  EXPECT_THAT(page, HasSubstr("<svg>drawn</svg>"));
  EXPECT_THAT(page, Not(HasSubstr("<?xml")));
  EXPECT_THAT(page, HasSubstr("<th>law</th><th>hit rate</th><th>what, exactly</th><th>runs</th>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">2.092</td><td>a &quot;hit&quot; "
                              "&lt;b&gt;</td><td class=\"number\">12345</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">1e-06</td><td></td>"));
  EXPECT_THAT(page, HasSubstr("<p>unit: part</p>"));
}

TEST_F(ReportTest, RefusesWhatIsNoTable) {
  WriteResult("cut.csv", "a,b\n1,2\n3\n");
  EXPECT_THAT(Page({}, {results_}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("cut.csv, line 3")));
}

TEST_F(ReportTest, ADirectoryWithoutResultsIsAMistake) {
  EXPECT_THAT(Page({}, {results_}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("holds no .csv")));
}

// --- JSON

// The fields of version 1: a field that goes, or changes its kind, needs another version.
TEST_F(ReportTest, JsonHasTheFieldsOfItsVersion) {
  declared_["retention"] = "30 days";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const JsonObject json,
      JsonObject::Parse(PublicReportJson({deployment, "reviews", kDate, declared_}), "report"));
  EXPECT_THAT(json.fields(),
              ElementsAre("date", "declared", "earlier_deployments", "has_ended", "lineage",
                          "mechanism", "name", "neighbours", "nist_sp_800_226", "not_covered",
                          "promise", "schema", "user", "version"));
  // Which weights the members have is private.
  EXPECT_THAT(PublicReportJson({deployment, "reviews", kDate, declared_}),
              Not(HasSubstr(base::ToHex(deployment.ensemble.fingerprint()))));
  EXPECT_EQ(*json.Text("schema"), "submix-report");
  EXPECT_EQ(*json.Int("version", 1, 1), 1);
  EXPECT_EQ(*json.Text("date"), "2026-09-21");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const JsonObject user, json.Object("user"));
  EXPECT_THAT(user.fields(), ElementsAre("delta", "epsilon", "neighbours", "read_aloud", "unit"));
  EXPECT_NEAR(*user.Number("epsilon"), 7.8035, 5e-4);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const JsonObject mechanism, json.Object("mechanism"));
  EXPECT_THAT(mechanism.fields(), ElementsAre("epsilon_of_part", "most_per_token", "name", "order",
                                              "parts", "proven", "when_exhausted"));
  EXPECT_EQ(*mechanism.Text("when_exhausted"), "public");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const JsonObject declared, json.Object("declared"));
  EXPECT_EQ(declared.fields().size(), std::size(kDeclaredFields));
  EXPECT_EQ(*declared.Text("retention"), "30 days");
  EXPECT_TRUE(declared.IsNull("key_holders"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto variants, json.Objects("neighbours"));
  for (const JsonObject& variant : variants) {
    EXPECT_THAT(variant.fields(), ElementsAre("answer", "difference", "known_as"));
  }
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto points, json.Objects("nist_sp_800_226"));
  std::vector<std::string> ids;
  for (const JsonObject& point : points) {
    EXPECT_THAT(point.fields(), ElementsAre("answer", "point", "status", "title"));
    ids.push_back(*point.Text("point"));
  }
  EXPECT_THAT(ids, ElementsAre("epsilon_and_delta", "unit", "neighbours", "composition",
                               "sensitivity", "finite_precision", "randomness", "side_channels",
                               "trust_model", "security", "collection_and_retention", "utility",
                               "bias", "tuning", "pre_training_data"));
}

TEST_F(ReportTest, JsonSaysNothingOfWhatWasSpent) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix"));
  const std::string json = PublicReportJson({deployment, "reviews", kDate, declared_});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto head, deployment.ledger->head());
  for (const std::string& of_operator :
       {std::string("\"spent"), std::string("records\""), base::ToHex(head.hash), ensemble_}) {
    EXPECT_THAT(json, Not(HasSubstr(of_operator)));
  }
}

TEST_F(ReportTest, JsonIsUtf8WhateverTheNameIs) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix"));
  SUBMIX_EXPECT_OK(
      JsonObject::Parse(PublicReportJson({deployment, "a\xff\"b", kDate, {}}), "report"));
}

// --- Guidelines

std::map<std::string, PointStatus> StatusOfPoints(const engine::Deployment& deployment,
                                                  const DeclaredStatements& declared = {}) {
  std::map<std::string, PointStatus> status;
  for (const GuidelinePoint& point : AnswerGuidelines(deployment, declared)) {
    EXPECT_FALSE(point.answer.empty()) << point.id;
    status[std::string(point.id)] = point.status;
  }
  return status;
}

TEST_F(ReportTest, WhatIsDeclaredMeetsWhatAsksForIt) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix"));
  const auto without = StatusOfPoints(deployment);
  EXPECT_EQ(without.at("epsilon_and_delta"), PointStatus::kMet);
  EXPECT_EQ(without.at("composition"), PointStatus::kPartly);
  EXPECT_EQ(without.at("collection_and_retention"), PointStatus::kNotMet);
  EXPECT_EQ(without.at("pre_training_data"), PointStatus::kNotMet);
  const auto with = StatusOfPoints(
      deployment, {{"other_releases", "none"}, {"retention", "a year"}, {"public_model", "GPT-2"}});
  EXPECT_EQ(with.at("composition"), PointStatus::kMet);
  EXPECT_EQ(with.at("collection_and_retention"), PointStatus::kPartly);
  EXPECT_EQ(with.at("pre_training_data"), PointStatus::kPartly);
}

TEST_F(ReportTest, AWeakEpsilonMeetsAPointPartly) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix", 20));
  EXPECT_EQ(StatusOfPoints(deployment).at("epsilon_and_delta"), PointStatus::kPartly);
  EXPECT_THAT(ReadAloud(deployment), AllOf(HasSubstr("more than a billion times"),
                                           HasSubstr("That is weak"), Not(HasSubstr("even bet"))));
}

std::map<std::string, std::string> AnswersByVariant(const engine::Deployment& deployment) {
  std::map<std::string, std::string> answers;
  for (const NeighbourVariant& variant : NeighbourVariants(deployment)) {
    answers[std::string(variant.known_as)] = variant.answer;
  }
  return answers;
}

TEST_F(ReportTest, ReplacingAUserCoversJoiningAndLeaving) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix"));
  auto answers = AnswersByVariant(deployment);
  for (const char* covered :
       {"bounded, replacement", "unbounded, add or remove", "zero-out", "event or record level"}) {
    EXPECT_EQ(answers.at(covered), "promised") << covered;
  }
  EXPECT_THAT(answers.at("group privacy"), HasSubstr("only weaker"));
}

TEST_F(ReportTest, AboveAPrivatelyTrainedModelJoiningAndLeavingIsWhatIsPromised) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto deployment, Deploy("filtered-submix", 2, kCost));
  auto answers = AnswersByVariant(deployment);
  EXPECT_EQ(answers.at("unbounded, add or remove"), "promised");
  EXPECT_THAT(answers.at("bounded, replacement"), HasSubstr("only weaker"));
  EXPECT_EQ(StatusOfPoints(deployment).at("pre_training_data"), PointStatus::kMet);
  EXPECT_THAT(NotCovered(deployment), Each(Not(HasSubstr("public model has read"))));
}

}  // namespace report_test
}  // namespace submix::eval

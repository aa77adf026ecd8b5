#include "submix/engine/deployment.h"

#include <filesystem>
#include <limits>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/deployment_changes.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/ledger/testing/postgres_server.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::engine {
namespace deployment_test {

using base::StatusCode;
using base::StatusIs;
using testing::_;
using testing::HasSubstr;

// A complete ensemble as far as files and manifest go; no model is ever loaded here.
class DeploymentTest : public testing::Test {
 protected:
  void SetUp() override {
    ensemble::WriteEnsemble(ensemble_, 3);
    options_.mechanism.target_leakage = 0.01;
  }

  std::string AdapterPath(int part) const {
    return ensemble_ + "/" + ensemble::MemberDirectory(part, 0, 3, 1) +
           "/adapter_model.safetensors";
  }

  base::TemporaryDirectory directory_;
  const std::string ensemble_ = directory_.File("ensemble");
  const std::string deployment_ = directory_.File("deployment");
  DeploymentOptions options_;
};

TEST_F(DeploymentTest, KeepsWhatWasDeclared) {
  options_.mechanism.order = divergence::RenyiOrder::Infinity();
  options_.epsilon = 3.5;
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment deployment,
                              OpenDeployment(deployment_, DeploymentAccess::kCharge));
  EXPECT_TRUE(deployment.config.options.mechanism.order.is_infinite());
  EXPECT_EQ(deployment.mechanism->name(), "filtered-submix");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, deployment.ledger->Accounts());
  ASSERT_EQ(accounts.size(), 3u);
  EXPECT_EQ(accounts[2].budget.ToNatsRoundedUp(), 3.5);
  ASSERT_EQ(deployment.ensemble.manifest().deployments.size(), 1u);
  EXPECT_EQ(deployment.ensemble.manifest().deployments[0].lineage, deployment.ledger->lineage());
}

TEST_F(DeploymentTest, EveryOptionOfAMechanismSurvivesTheFile) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(DeploymentConfig config, LoadDeploymentConfig(deployment_));
  const base::Sha256Digest plain = DeploymentFingerprint(config);
  mechanism::MechanismOptions& declared = config.options.mechanism;
  declared.accounting = mechanism::ChargeAccounting::kLeaveOneOut;
  declared.sampling_probability = .03;
  declared.ball_radius = 1.5;
  declared.screen = {.2, .3, 4, 5};
  declared.clip = {.stretch = 1.5, .centre = .3};
  declared.screened_mechanism = "dclip";
  config.options.research = true;
  config.options.delta = 1e-9;
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(config, deployment_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DeploymentConfig read, LoadDeploymentConfig(deployment_));
  EXPECT_EQ(read.options.mechanism.accounting, declared.accounting);
  EXPECT_EQ(read.options.mechanism.sampling_probability, .03);
  EXPECT_EQ(read.options.mechanism.ball_radius, 1.5);
  EXPECT_EQ(read.options.mechanism.screen, declared.screen);
  EXPECT_EQ(read.options.mechanism.clip, declared.clip);
  EXPECT_EQ(read.options.mechanism.screened_mechanism, "dclip");
  EXPECT_EQ(read.options.delta, 1e-9);
  EXPECT_EQ(read.options.mechanism.num_parts, 3);
  EXPECT_TRUE(read.options.research);
  EXPECT_EQ(DeploymentFingerprint(read), DeploymentFingerprint(config));
  EXPECT_NE(DeploymentFingerprint(read), plain);
}

TEST_F(DeploymentTest, DeclaresWhatHappensWhenAnswersAreUsedUp) {
  options_.mechanism.name = "dclip";
  options_.when_exhausted = WhenExhausted::kRefuse;
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(DeploymentConfig config, LoadDeploymentConfig(deployment_));
  EXPECT_EQ(config.options.when_exhausted, WhenExhausted::kRefuse);
  // Declared once: the ledger does not open for another rule.
  config.options.when_exhausted = WhenExhausted::kPublic;
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(config, deployment_));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(DeploymentTest, OnlyAPublicNumberOfAnswersMayEndInRefusals) {
  options_.when_exhausted = WhenExhausted::kRefuse;
  for (const char* name : {"filtered-submix", "filtered-dclip", "screened", "public"}) {
    options_.mechanism.name = name;
    EXPECT_THAT(CreateDeployment(deployment_, ensemble_, options_),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("no fixed number of tokens")))
        << name;
  }
}

TEST_F(DeploymentTest, RefusesAMechanismWithoutPrivacy) {
  options_.mechanism.name = "ensemble";
  options_.research = true;
  const auto is_refused =
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("ensemble is not private"));
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, options_, "", mechanism::MakeAnyMechanism),
              is_refused);
  // Nor does a file made by hand open.
  options_.mechanism.name = "public";
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(DeploymentConfig config, LoadDeploymentConfig(deployment_));
  config.options.mechanism.name = "ensemble";
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(config, deployment_));
  EXPECT_THAT(
      OpenDeployment(deployment_, DeploymentAccess::kCharge, mechanism::MakeAnyMechanism).status(),
      is_refused);
}

// Which mechanisms there are is the program's to say; the engine knows the proven ones.
TEST_F(DeploymentTest, AnswersByResearchOnlyWhereTheProgramKnowsIt) {
  options_.mechanism.name = "gnmax";
  options_.mechanism.accounting = mechanism::ChargeAccounting::kPublished;
  options_.research = true;
  const auto is_research = StatusIs(StatusCode::kInvalidArgument, HasSubstr("research"));
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, options_), is_research);
  SUBMIX_ASSERT_OK(
      CreateDeployment(deployment_, ensemble_, options_, "", mechanism::MakeAnyMechanism));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge), is_research);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const Deployment deployment,
      OpenDeployment(deployment_, DeploymentAccess::kCharge, mechanism::MakeAnyMechanism));
  EXPECT_FALSE(deployment.mechanism->is_sound());
  SUBMIX_EXPECT_OK(CheckMayBeServed(deployment_, deployment, /*allows_research=*/true));
  EXPECT_THAT(CheckMayBeServed(deployment_, deployment, /*allows_research=*/false),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--research serves it")));
}

// Both who declares and who serves must want it.
TEST_F(DeploymentTest, ResearchThatWasNotDeclaredSoIsNotServed) {
  options_.mechanism.name = "gnmax";
  options_.mechanism.accounting = mechanism::ChargeAccounting::kPublished;
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const Deployment made,
      CreateDeployment(deployment_, ensemble_, options_, "", mechanism::MakeAnyMechanism));
  EXPECT_THAT(CheckMayBeServed(deployment_, made, /*allows_research=*/true),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("without --research")));
}

TEST_F(DeploymentTest, ABudgetBelongsToTheDataSoASecondDeploymentIsRefused) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  EXPECT_THAT(CreateDeployment(directory_.File("second"), ensemble_, options_),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("already deployed as deployment")));
  EXPECT_FALSE(base::FileExists(directory_.File("second")));
}

TEST_F(DeploymentTest, AnEnsembleChangedAfterwardsIsNotServed) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK(base::WriteFile(AdapterPath(1), "b"));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("adapter_model.safetensors")));
  // A manifest that was made to fit does not help: the fingerprint is in the deployment.
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(ensemble_));
  SUBMIX_ASSERT_OK(ensemble::HashFiles(manifest, ensemble_));
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, ensemble_));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("changed after")));
}

TEST_F(DeploymentTest, ALedgerOpensOnlyForItsOwnOptions) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(DeploymentConfig config, LoadDeploymentConfig(deployment_));
  config.options.mechanism.max_mixing_weight = 0.5;
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(config, deployment_));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(DeploymentTest, OnlyOneProcessChargesAndReadersStandBeside) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment writer,
                              OpenDeployment(deployment_, DeploymentAccess::kCharge));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kUnavailable, _));
  SUBMIX_EXPECT_OK(OpenDeployment(deployment_, DeploymentAccess::kReadOnly));
}

TEST_F(DeploymentTest, SeveralServersChargeOneDatabase) {
  if (!ledger::PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
  const std::string location = ledger::SharedPostgresServer().NewSchema();
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_, location));
  EXPECT_FALSE(base::FileExists(deployment_ + "/ledger.sqlite"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment first,
                              OpenDeployment(deployment_, DeploymentAccess::kCharge));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment second,
                              OpenDeployment(deployment_, DeploymentAccess::kCharge));
  EXPECT_EQ(first.config.ledger_location, location);
  const std::vector<accounting::FixedNats> charges(3, accounting::FixedNats::RoundUp(0.5));
  const ledger::ChargeRequest request{{1, 1}, accounting::ChargeRule::kPerPart, charges};
  SUBMIX_ASSERT_OK(first.ledger->Charge(std::span(&request, 1)));
  SUBMIX_ASSERT_OK(second.ledger->Charge(std::span(&request, 1)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, first.ledger->Accounts());
  EXPECT_EQ(accounts[1].spent.ToNatsRoundedUp(), 1);
}

TEST_F(DeploymentTest, ALedgerMovesIntoADatabaseWithItsChain) {
  if (!ledger::PostgresServer::IsInstalled()) GTEST_SKIP() << "PostgreSQL is not installed";
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  const std::vector<accounting::FixedNats> charges(3, accounting::FixedNats::RoundUp(0.5));
  const ledger::ChargeRequest request{{1, 1}, accounting::ChargeRule::kPerPart, charges};
  const std::string location = ledger::SharedPostgresServer().NewSchema();
  ledger::Ledger::Head head;
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment file,
                                OpenDeployment(deployment_, DeploymentAccess::kCharge));
    SUBMIX_ASSERT_OK(file.ledger->Charge(std::span(&request, 1)));
    SUBMIX_ASSERT_OK_AND_ASSIGN(head, file.ledger->head());
    EXPECT_THAT(MoveLedger(deployment_, location), StatusIs(StatusCode::kUnavailable, _));
  }
  SUBMIX_ASSERT_OK(MoveLedger(deployment_, location));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto files, base::ListDirectory(deployment_));
  EXPECT_THAT(files, testing::ElementsAre("anchor", "deployment.json", "ledger.sqlite.lock",
                                          "ledger.sqlite.moved"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment moved,
                              OpenDeployment(deployment_, DeploymentAccess::kCharge));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto moved_head, moved.ledger->head());
  EXPECT_EQ(moved_head.hash, head.hash);
  EXPECT_EQ(moved.ledger->lineage(), moved.config.lineage);
  SUBMIX_ASSERT_OK(moved.ledger->Charge(std::span(&request, 1)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto accounts, moved.ledger->Accounts());
  EXPECT_EQ(accounts[0].spent.ToNatsRoundedUp(), 1);
  SUBMIX_EXPECT_OK(moved.ledger->Verify());
  EXPECT_THAT(MoveLedger(deployment_, location), StatusIs(StatusCode::kFailedPrecondition, _));
}

TEST_F(DeploymentTest, ALedgerThatCannotBeMadeLeavesNothing) {
  for (const char* location : {"ledger.db", "mysql://db/ledger", "postgresql://127.0.0.1:1/none",
                               "postgresql://u:p@h/d"}) {
    EXPECT_FALSE(CreateDeployment(deployment_, ensemble_, options_, location).ok()) << location;
  }
  EXPECT_FALSE(base::FileExists(deployment_ + ".unfinished"));
  SUBMIX_EXPECT_OK(CreateDeployment(deployment_, ensemble_, options_));
}

TEST_F(DeploymentTest, RefusesOptionsOutOfRangeAndLeavesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double epsilon : {0.0, -1.0, 8192.0, nan}) {
    DeploymentOptions wrong = options_;
    wrong.epsilon = epsilon;
    EXPECT_THAT(CreateDeployment(deployment_, ensemble_, wrong),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("epsilon")));
  }
  for (const double leakage : {0.0, 3.0, nan}) {
    DeploymentOptions wrong = options_;
    wrong.mechanism.target_leakage = leakage;
    EXPECT_THAT(CreateDeployment(deployment_, ensemble_, wrong),
                StatusIs(StatusCode::kInvalidArgument, _));
  }
  DeploymentOptions unknown = options_;
  unknown.mechanism.name = "magic";
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, unknown),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("filtered-submix")));
  EXPECT_FALSE(base::FileExists(deployment_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(ensemble_));
  EXPECT_TRUE(manifest.deployments.empty());
}

TEST_F(DeploymentTest, RefusesUnfinishedEnsemblesAndMissingPairs) {
  DeploymentOptions pairs = options_;
  pairs.mechanism.name = "submix";
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, pairs, "", mechanism::MakeAnyMechanism),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--halves 2")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(ensemble_));
  manifest.members[1].complete = false;
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, ensemble_));
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, options_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not trained yet")));
}

TEST_F(DeploymentTest, ACrashBeforeTheLastRenameIsFinishedByTheNextTry) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK(base::Rename(deployment_, deployment_ + ".unfinished"));
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_EXPECT_OK(OpenDeployment(deployment_, DeploymentAccess::kCharge));
}

TEST_F(DeploymentTest, ADirectoryMayBeWrittenInAnyWay) {
  const std::string target = directory_.File("elsewhere");
  SUBMIX_ASSERT_OK(base::MakeDirectories(target));
  std::filesystem::create_directory_symlink(target, deployment_);
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_ + "/./", ensemble_, options_));
  SUBMIX_EXPECT_OK(OpenDeployment(target, DeploymentAccess::kCharge));
  SUBMIX_EXPECT_OK(OpenDeployment(deployment_ + "/", DeploymentAccess::kCharge));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(ensemble_));
  EXPECT_EQ(manifest.deployments.front().name, "elsewhere");
}

TEST_F(DeploymentTest, AFileInItsPlaceStays) {
  SUBMIX_ASSERT_OK(base::WriteFile(deployment_, "notes"));
  EXPECT_THAT(CreateDeployment(deployment_, ensemble_, options_),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("not an empty directory")));
  EXPECT_EQ(*base::ReadFile(deployment_), "notes");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(ensemble_));
  EXPECT_TRUE(manifest.deployments.empty());
}

TEST_F(DeploymentTest, IsOpenedOnlyWhereTheEnsembleListsIt) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, ensemble::LoadManifest(ensemble_));
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto after, ensemble::LoadManifest(ensemble_));
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(before, ensemble_));
  for (const auto access : {DeploymentAccess::kCharge, DeploymentAccess::kReadOnly}) {
    EXPECT_THAT(OpenDeployment(deployment_, access),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--after")));
  }
  // The mend that the message names counts what was spent, and ends it.
  const std::string second = directory_.File("second");
  SUBMIX_ASSERT_OK(
      CreateDeployment(second, ensemble_, options_, "", mechanism::MakeMechanism, {deployment_}));
  SUBMIX_EXPECT_OK(OpenDeployment(second, DeploymentAccess::kReadOnly));
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(after, ensemble_));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended")));
}

TEST_F(DeploymentTest, IsNotOpenedOnTheLedgerOfAnother) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto before, ensemble::LoadManifest(ensemble_));
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(before, ensemble_));
  const std::string second = directory_.File("second");
  SUBMIX_ASSERT_OK(CreateDeployment(second, ensemble_, options_));
  for (const char* file : {"/ledger.sqlite", "/anchor"}) {
    std::filesystem::copy_file(deployment_ + file, second + file,
                               std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_THAT(OpenDeployment(second, DeploymentAccess::kCharge),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("another deployment's")));
}

// Who forgets asks first, and trains then.
TEST_F(DeploymentTest, IsNotBoundAnewWhileSomebodyAnswersNotEvenToTheSame) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment answering,
                                OpenDeployment(deployment_, DeploymentAccess::kCharge));
    EXPECT_THAT(RebindDeployment(deployment_), StatusIs(StatusCode::kUnavailable, _));
  }
  SUBMIX_EXPECT_OK(RebindDeployment(deployment_));
}

TEST_F(DeploymentTest, ADirectoryOfBatchesIsNamedAsOne) {
  SUBMIX_ASSERT_OK(base::MakeDirectories(directory_.File("all/batch-1-of-1")));
  for (const base::Status& status : {LoadDeploymentConfig(directory_.File("all")).status(),
                                     ensemble::LoadManifest(directory_.File("all")).status()}) {
    EXPECT_THAT(status, StatusIs(StatusCode::kNotFound, HasSubstr("all/batch-1-of-1")));
  }
}

TEST_F(DeploymentTest, PublicKeysAreTheEnsemblesAndBindTheLedger) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(ensemble::Manifest manifest, ensemble::LoadManifest(ensemble_));
  manifest.contexts = ensemble::Contexts{.tokens = 64, .public_keys = true};
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, ensemble_));
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment deployment,
                              OpenDeployment(deployment_, DeploymentAccess::kReadOnly));
  EXPECT_TRUE(deployment.config.public_keys);
  const accounting::Promise promise = DeploymentPromise(deployment);
  EXPECT_THAT(promise.sentence, HasSubstr("the list of users is public"));
  EXPECT_EQ(promise.rows[0].cells[0], promise.rows[0].cells[1]);
  // Programs that do not know of it would say something else to users: they refuse the file.
  EXPECT_THAT(*base::ReadFile(DeploymentConfigPath(deployment_)), HasSubstr("\"format\": 3"));
  DeploymentConfig without = deployment.config;
  without.public_keys = false;
  EXPECT_NE(DeploymentFingerprint(without), DeploymentFingerprint(deployment.config));
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(without, deployment_));
  EXPECT_THAT(OpenDeployment(deployment_, DeploymentAccess::kReadOnly),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("changed")));
}

TEST_F(DeploymentTest, RefusesNewerAndDamagedFiles) {
  SUBMIX_ASSERT_OK(CreateDeployment(deployment_, ensemble_, options_));
  const std::string path = DeploymentConfigPath(deployment_);
  SUBMIX_ASSERT_OK_AND_ASSIGN(std::string text, base::ReadFile(path));
  std::string newer = text;
  newer.replace(newer.find("\"format\": 2"), 11, "\"format\": 9");
  SUBMIX_ASSERT_OK(base::WriteFile(path, newer));
  EXPECT_THAT(LoadDeploymentConfig(deployment_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("newer Submix")));
  for (std::size_t cut = 0; cut < text.size() - 2; cut += 7) {
    SUBMIX_ASSERT_OK(base::WriteFile(path, text.substr(0, cut)));
    EXPECT_THAT(LoadDeploymentConfig(deployment_), StatusIs(StatusCode::kInvalidArgument, _));
  }
}

}  // namespace deployment_test
}  // namespace submix::engine

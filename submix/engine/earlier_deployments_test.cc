#include "submix/engine/earlier_deployments.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/deployment_changes.h"
#include "submix/engine/deployment_statement.h"
#include "submix/ensemble/testing/written_ensemble.h"
#include "submix/ensemble/training_cost.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::engine {
namespace earlier_deployments_test {

using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int kParts = 3;
constexpr const char* kKey = "0123456789abcdef";
constexpr const char* kOtherKey = "fedcba9876543210";
constexpr const char* kCost =
    R"({"format": 1, "mechanism": "dp-sgd", "unit": "user", "sampling_probability": 0.01,
        "noise_multiplier": 1.1, "steps": 500, "delta": 1e-5, "epsilon": 3})";

class EarlierDeploymentsTest : public testing::Test {
 protected:
  // An ensemble as far as files and manifest go; its deployment goes beside it.
  void MakeEnsemble(const std::string& name, const std::string& key, const std::string& cost = "",
                    const std::string& trained_on = "", bool public_keys = false) const {
    const std::string ensemble = directory_.File(name);
    ensemble::Manifest manifest;
    manifest.external = external_;
    if (!trained_on.empty()) manifest.hyper_parameters["public_trained_on"] = trained_on;
    if (public_keys) manifest.contexts = ensemble::Contexts{.tokens = 64, .public_keys = true};
    manifest.num_parts = kParts;
    manifest.partition_key_id = key;
    ensemble::WriteEnsemble(ensemble, manifest, name, ensemble::PublicFilesOf(cost));
  }

  std::string DeploymentOf(const std::string& ensemble) const {
    return directory_.File(ensemble + "_deployed");
  }

  base::Status Deploy(const std::string& ensemble, const std::string& mechanism, double epsilon,
                      const std::vector<std::string>& after = {}, const std::string& location = "",
                      bool replaces = false) const {
    DeploymentOptions options;
    options.mechanism.name = mechanism;
    options.mechanism.order = order_;
    options.mechanism.target_leakage = 0.01;
    options.epsilon = epsilon;
    std::vector<std::string> directories;
    for (const std::string& earlier : after) directories.push_back(DeploymentOf(earlier));
    return CreateDeployment(DeploymentOf(ensemble), directory_.File(ensemble), options, location,
                            mechanism::MakeAnyMechanism, directories, replaces)
        .status();
  }
  base::Status Replace(const std::string& ensemble, const std::string& mechanism, double epsilon,
                       const std::vector<std::string>& after = {},
                       const std::string& location = "") const {
    return Deploy(ensemble, mechanism, epsilon, after, location, true);
  }

  base::StatusOr<Deployment> Open(const std::string& ensemble) const {
    return OpenDeployment(DeploymentOf(ensemble), DeploymentAccess::kCharge,
                          mechanism::MakeAnyMechanism);
  }

  void Spend(const std::string& ensemble, const std::vector<double>& nats) const {
    std::vector<FixedNats> charges;
    for (const double charge : nats) charges.push_back(FixedNats::RoundUp(charge));
    SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment deployment, Open(ensemble));
    const ledger::ChargeRequest request{{1, 1}, accounting::ChargeRule::kPerPart, charges};
    SUBMIX_ASSERT_OK(deployment.ledger->Charge(std::span(&request, 1)));
  }

  std::vector<double> Spent(const std::string& ensemble) const {
    const auto deployment = Open(ensemble);
    SUBMIX_EXPECT_OK(deployment);
    SUBMIX_EXPECT_OK(deployment->ledger->Verify());
    const auto accounts = deployment->ledger->Accounts();
    SUBMIX_EXPECT_OK(accounts);
    std::vector<double> spent;
    for (const auto& account : *accounts) spent.push_back(account.spent.ToNatsRoundedUp());
    return spent;
  }

  base::TemporaryDirectory directory_;
  std::optional<ensemble::ExternalModels> external_;  // of the ensembles that are made
  divergence::RenyiOrder order_ = divergence::RenyiOrder::Create(8).value();
};

TEST_F(EarlierDeploymentsTest, PartsBeginWithWhatAConstantChargeHasSpent) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 2));
  Spend("old", {.5, .5, .5});
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 2, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(.5, .5, .5));
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto config, LoadDeploymentConfig(DeploymentOf("new")));
  EXPECT_EQ(config.earlier.most.ToNatsRoundedUp(), .5);
  // The ledger is bound to what it counts in: no file may say otherwise.
  config.earlier.most = FixedNats();
  SUBMIX_ASSERT_OK(SaveDeploymentConfig(config, DeploymentOf("new")));
  EXPECT_THAT(Open("new"), StatusIs(StatusCode::kFailedPrecondition, ::testing::_));
}

// The promise of CounterexampleTest.TheLargestAmountSpentShowsWorldsApart: a user's neighbouring
// worlds differ in what one old part has spent, and no new part of other users may show it.
TEST_F(EarlierDeploymentsTest, WhatOnePartHasSpentReachesNoOtherPart) {
  for (const char* key : {kKey, kOtherKey}) {
    std::vector<std::vector<double>> begun;
    for (const double of_part_1 : {0.0, 1.0}) {
      const std::string name = std::string(key) + std::to_string(begun.size());
      MakeEnsemble(name + "old", kKey);
      MakeEnsemble(name + "new", key);
      SUBMIX_ASSERT_OK(Deploy(name + "old", "filtered-submix", 2));
      Spend(name + "old", {.25, of_part_1, .5});
      SUBMIX_ASSERT_OK(Deploy(name + "new", "filtered-submix", 4, {name + "old"}));
      begun.push_back(Spent(name + "new"));
    }
    EXPECT_EQ(begun[0][0], begun[1][0]) << key;
    EXPECT_EQ(begun[0][2], begun[1][2]) << key;
    EXPECT_GE(begun[1][1], 1) << key;
  }
}

// Users move between parts, so no part may begin with what one part of the old ones chose to spend.
TEST_F(EarlierDeploymentsTest, AFiltersWholeBudgetCountsWhateverItsPartsHaveSpent) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "filtered-submix", 2));
  Spend("old", {0, .5, 1});
  EXPECT_THAT(Deploy("new", "filtered-submix", 2, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("leaves nothing")));
  SUBMIX_ASSERT_OK(Deploy("new", "filtered-submix", 2.5, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(2, 2, 2));
}

TEST_F(EarlierDeploymentsTest, TheSamePartsGoOnWithTheirOwnAmounts) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("restored", kKey);
  SUBMIX_ASSERT_OK(Deploy("old", "filtered-submix", 2));
  Spend("old", {0, .5, 1});
  EXPECT_THAT(Deploy("restored", "filtered-submix", 1.5, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("leaves nothing")));
  SUBMIX_ASSERT_OK(Deploy("restored", "filtered-submix", 2, {"old"}));
  EXPECT_THAT(Spent("restored"), ElementsAre(0, .5, 1));
}

// A constant charge's accounts end together, in public: they must begin alike.
TEST_F(EarlierDeploymentsTest, AConstantChargeBeginsAlikeInTheSamePartsToo) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("restored", kKey);
  SUBMIX_ASSERT_OK(Deploy("old", "filtered-submix", 2));
  Spend("old", {0, .5, 1});
  SUBMIX_ASSERT_OK(Deploy("restored", "dclip", 3, {"old"}));
  EXPECT_THAT(Spent("restored"), ElementsAre(2, 2, 2));
}

TEST_F(EarlierDeploymentsTest, AmountsAddUpAndNoneCountsTwice) {
  for (const char* name : {"a", "b", "c", "d"}) MakeEnsemble(name, name);
  SUBMIX_ASSERT_OK(Deploy("a", "dclip", 2));
  Spend("a", {.25, .25, .25});
  SUBMIX_ASSERT_OK(Deploy("b", "dclip", 2));
  Spend("b", {.5, .5, .5});
  EXPECT_THAT(Deploy("c", "dclip", 2, {"a", "b", "a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("counted already")));
  SUBMIX_ASSERT_OK(Deploy("c", "dclip", 2, {"a", "b"}));
  EXPECT_THAT(Spent("c"), ElementsAre(.75, .75, .75));
  EXPECT_THAT(Deploy("d", "dclip", 2, {"c", "b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("counted already")));
  SUBMIX_ASSERT_OK(Deploy("d", "dclip", 2, {"c"}));
  EXPECT_THAT(Spent("d"), ElementsAre(.75, .75, .75));
}

// Two that went on from the same one: it counts twice, which is too much and never too little.
TEST_F(EarlierDeploymentsTest, TwoThatCountTheSameOneInAddUp) {
  for (const char* name : {"a", "b", "c", "d"}) MakeEnsemble(name, name);
  SUBMIX_ASSERT_OK(Deploy("a", "dclip", 2));
  Spend("a", {.25, .25, .25});
  SUBMIX_ASSERT_OK(Deploy("b", "dclip", 2, {"a"}));
  SUBMIX_ASSERT_OK(Deploy("c", "dclip", 2, {"a"}));
  Spend("c", {.5, .5, .5});
  SUBMIX_ASSERT_OK(Deploy("d", "dclip", 2, {"b", "c"}));
  EXPECT_THAT(Spent("d"), ElementsAre(1, 1, 1));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto config, LoadDeploymentConfig(DeploymentOf("d")));
  EXPECT_EQ(config.earlier.lineages.size(), 3u);
}

TEST_F(EarlierDeploymentsTest, TheEarlierOneEndsAndARefusalEndsNone) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 2));
  Spend("old", {.5, .5, .5});
  EXPECT_FALSE(Deploy("new", "dclip", .5, {"old"}).ok());
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment served, Open("old"));
    EXPECT_THAT(Deploy("new", "dclip", 2, {"old"}),
                StatusIs(StatusCode::kUnavailable, ::testing::_));
  }
  Spend("old", {.125, .125, .125});
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 2, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(.625, .625, .625));
  EXPECT_THAT(Open("old"), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended")));
  // Who audits the new one looks at the old one's chain.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment ended,
                              OpenDeployment(DeploymentOf("old"), DeploymentAccess::kReadOnly));
  EXPECT_TRUE(ended.has_ended);
  EXPECT_THAT(DeploymentPromise(ended).sentence, HasSubstr("It has ended"));
  SUBMIX_EXPECT_OK(ended.ledger->Verify());
}

TEST_F(EarlierDeploymentsTest, WhatStopsAfterTheEndIsFinishedByTheNextTry) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 2));
  Spend("old", {.5, .5, .5});
  EXPECT_FALSE(Deploy("new", "dclip", 2, {"old"}, "postgresql://127.0.0.1:1/none").ok());
  EXPECT_FALSE(Open("old").ok());
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 2, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(.5, .5, .5));
}

TEST_F(EarlierDeploymentsTest, AnEndedOneStaysEndedWhenItsEnsembleForgets) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 2));
  Spend("old", {.5, .5, .5});
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 2, {"old"}));
  const std::string ensemble = directory_.File("old");
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(ensemble));
  manifest.parent_sha256 = base::ToHex(ensemble::EnsembleFingerprint(manifest));
  ++manifest.generation;
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, ensemble));
  SUBMIX_ASSERT_OK(RebindDeployment(DeploymentOf("old")));
  EXPECT_THAT(Open("old"), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended")));
}

TEST_F(EarlierDeploymentsTest, RefusesWhatDoesNotAddUp) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 1));
  order_ = divergence::RenyiOrder::Two();
  EXPECT_THAT(Deploy("new", "dclip", 4, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("give --order 8")));
  order_ = divergence::RenyiOrder::Create(8).value();
  // Another ensemble in the old one's place says nothing of the old one's parts.
  SUBMIX_ASSERT_OK(base::RemoveAll(directory_.File("old")));
  MakeEnsemble("old", kOtherKey);
  EXPECT_THAT(Deploy("new", "dclip", 4, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the one")));
  MakeEnsemble("trained", kKey, kCost);
  SUBMIX_ASSERT_OK(Deploy("trained", "dclip", 1));
  EXPECT_THAT(Deploy("new", "dclip", 4, {"trained"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("cost of its own")));
  MakeEnsemble("strangers", kOtherKey, kCost, "other-users");
  EXPECT_THAT(Deploy("strangers", "dclip", 4, {"trained"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("may have read its users")));
  MakeEnsemble("again", kOtherKey, kCost);
  SUBMIX_EXPECT_OK(Deploy("again", "dclip", 4, {"trained"}));
}

// A user of the earlier ensemble who is one of the later public model's loses what both cost, and
// would be in neither column of the later promise (5.7 printed, 10.1 true).
TEST_F(EarlierDeploymentsTest, EarlierUsersMayBeThoseOfTheLaterPublicModel) {
  MakeEnsemble("plain", kKey);
  SUBMIX_ASSERT_OK(Deploy("plain", "filtered-submix", 1));
  MakeEnsemble("strangers", kOtherKey, kCost, "other-users");
  EXPECT_THAT(Deploy("strangers", "filtered-submix", 2, {"plain"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no promise would count both")));
  // Counted as the same users', or above the same model and of others each time, it adds up.
  MakeEnsemble("same", kOtherKey, kCost);
  SUBMIX_EXPECT_OK(Deploy("same", "filtered-submix", 2, {"plain"}));
  SUBMIX_ASSERT_OK(Deploy("strangers", "filtered-submix", 1));
  MakeEnsemble("more_strangers", kKey, kCost, "other-users");
  SUBMIX_EXPECT_OK(Deploy("more_strangers", "filtered-submix", 2, {"strangers"}));
}

// Two trainings with the same options leave the same cost file (11.3 printed, 16.2 true).
TEST_F(EarlierDeploymentsTest, ExternalModelsAreTheSameByTheirDigestsAlone) {
  const std::string first(64, 'a'), second(64, 'b'), of_public(64, 'c'), another(64, 'd');
  const auto refused = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--public-digest"));
  external_ = {first, 100};
  MakeEnsemble("a", kKey, kCost);
  SUBMIX_ASSERT_OK(Deploy("a", "filtered-submix", 1));
  external_ = {second, 100};
  MakeEnsemble("b", kKey, kCost);
  EXPECT_THAT(Deploy("b", "filtered-submix", 2, {"a"}), refused);
  external_ = {first, 100, of_public};
  MakeEnsemble("c", kKey, kCost);
  SUBMIX_ASSERT_OK(Deploy("c", "filtered-submix", 1));
  external_ = {second, 100, another};
  MakeEnsemble("d", kKey, kCost);
  EXPECT_THAT(Deploy("d", "filtered-submix", 2, {"c"}), refused);
  external_ = {second, 100, of_public};
  MakeEnsemble("e", kKey, kCost);
  SUBMIX_EXPECT_OK(Deploy("e", "filtered-submix", 2, {"c"}));
  // The same models again, though nothing is stated of the public one.
  external_ = {first, 100};
  MakeEnsemble("f", kOtherKey, kCost);
  SUBMIX_EXPECT_OK(Deploy("f", "filtered-submix", 2, {"a"}));
}

TEST_F(EarlierDeploymentsTest, WhatHasChargedNothingMayBeTakenBack) {
  MakeEnsemble("mistaken", kKey);
  SUBMIX_ASSERT_OK(Deploy("mistaken", "dclip", .5));
  SUBMIX_ASSERT_OK(Replace("mistaken", "filtered-submix", 4));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment now, Open("mistaken"));
  EXPECT_EQ(now.config.options.mechanism.name, "filtered-submix");
  EXPECT_EQ(now.ensemble.manifest().deployments.size(), 1u);
  const std::string aside = DeploymentOf("mistaken") + ".replaced-1";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DeploymentConfig old, LoadDeploymentConfig(aside));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const OpenedToRead opened, OpenToRead(aside, old));
  EXPECT_TRUE(opened.has_ended);
  SUBMIX_EXPECT_OK(opened.ledger->Verify());
  EXPECT_EQ(opened.ledger->head()->records, 2);
  // Nobody answers from it.
  EXPECT_FALSE(OpenDeployment(aside, DeploymentAccess::kCharge, mechanism::MakeAnyMechanism).ok());
}

TEST_F(EarlierDeploymentsTest, WhatHasChargedIsNeverTakenBack) {
  MakeEnsemble("answered", kKey);
  SUBMIX_ASSERT_OK(Deploy("answered", "filtered-submix", 2));
  Spend("answered", {0, 0x1p-50, 0});
  EXPECT_THAT(Replace("answered", "filtered-submix", 4),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("stays spent")));
  EXPECT_EQ(Spent("answered")[1], 0x1p-50);
  // Nor another ensemble's, nor one that somebody answers from.
  MakeEnsemble("other", kKey);
  SUBMIX_ASSERT_OK(Deploy("other", "dclip", 1));
  EXPECT_THAT(
      CreateDeployment(DeploymentOf("other"), directory_.File("answered"), {}, "",
                       mechanism::MakeAnyMechanism, {}, true),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not the deployment of this ensemble")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment served, Open("other"));
  EXPECT_THAT(Replace("other", "dclip", 2), StatusIs(StatusCode::kUnavailable, ::testing::_));
}

// One whose accounts began with something is taken back by who names the same earlier ones again.
TEST_F(EarlierDeploymentsTest, AnInterruptedReplacementIsFinishedByTheNextTry) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "dclip", 2));
  Spend("old", {.5, .5, .5});
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 1, {"old"}));
  EXPECT_FALSE(Replace("new", "dclip", 2, {"old"}, "postgresql://127.0.0.1:1/none").ok());
  SUBMIX_ASSERT_OK(Replace("new", "dclip", 2, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(.5, .5, .5));
  // As a crash leaves it before the directory is moved: ended, and not listed.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DeploymentConfig config,
                              LoadDeploymentConfig(DeploymentOf("new")));
  SUBMIX_ASSERT_OK(EndDeployment(DeploymentOf("new"), config));
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(directory_.File("new")));
  manifest.deployments.clear();
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, directory_.File("new")));
  SUBMIX_ASSERT_OK(Replace("new", "dclip", 3, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(.5, .5, .5));
}

// Other lists put other users into the same part, so that no account goes on as the same users';
// and what two ways to divide users promise does not add up.
TEST_F(EarlierDeploymentsTest, PublicKeysAddUpWithPublicKeysAndByWholeBudgets) {
  MakeEnsemble("old", kKey, "", "", true);
  MakeEnsemble("new", kKey, "", "", true);
  MakeEnsemble("hashed", kKey);
  SUBMIX_ASSERT_OK(Deploy("old", "filtered-submix", 1));
  Spend("old", {.25, .5, .125});
  EXPECT_THAT(Deploy("hashed", "filtered-submix", 4, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--public-keys")));
  SUBMIX_ASSERT_OK(Deploy("new", "filtered-submix", 4, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(1, 1, 1));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment deployment, Open("new"));
  EXPECT_THAT(DeploymentPromise(deployment).sentence, HasSubstr("the list of users is public"));
}

TEST_F(EarlierDeploymentsTest, NoPromiseCountsInWhatNothingBounds) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  DeploymentOptions options;
  options.mechanism.name = "gnmax";
  options.mechanism.order = order_;
  options.mechanism.accounting = mechanism::ChargeAccounting::kPublished;
  options.mechanism.target_leakage = .01;
  options.research = true;
  SUBMIX_ASSERT_OK(CreateDeployment(DeploymentOf("old"), directory_.File("old"), options, "",
                                    mechanism::MakeAnyMechanism));
  EXPECT_THAT(Deploy("new", "dclip", 4, {"old"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not proven")));
}

TEST_F(EarlierDeploymentsTest, ThePublicModelsAnswersCostNothing) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "public", 2));
  SUBMIX_ASSERT_OK(Deploy("new", "filtered-submix", 2, {"old"}));
  EXPECT_THAT(Spent("new"), ElementsAre(0, 0, 0));
}

TEST_F(EarlierDeploymentsTest, TheStatementCountsThemInAtTheirCommonOrderAlone) {
  MakeEnsemble("old", kKey);
  MakeEnsemble("new", kOtherKey);
  MakeEnsemble("alone", kOtherKey);
  SUBMIX_ASSERT_OK(Deploy("old", "filtered-submix", .5));
  SUBMIX_ASSERT_OK(Deploy("new", "dclip", 2, {"old"}));
  SUBMIX_ASSERT_OK(Deploy("alone", "filtered-submix", 2));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment together, Open("new"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const Deployment alone, Open("alone"));
  const accounting::Promise promise = DeploymentPromise(together);
  // dclip alone would have every order at once; what both of them have is the budget at order 8.
  EXPECT_EQ(promise.rows[0].cells, DeploymentPromise(alone).rows[0].cells);
  EXPECT_THAT(promise.sentence, HasSubstr("1 earlier deployment(s) are counted in"));
  EXPECT_EQ(promise.rows.back().label, "earlier answers");
  EXPECT_THAT(promise.rows.back().cells,
              ElementsAre(HasSubstr("up to 0.5 nats"), "not counted in"));
}

}  // namespace earlier_deployments_test
}  // namespace submix::engine

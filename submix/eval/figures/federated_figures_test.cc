#include "submix/eval/figures/federated_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"

namespace submix::eval {
namespace federated_figures_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

const accounting::Promise kStated = {
    "a sentence", {"user"}, {{"unit", {"all text of one user key"}}}};

// Remembers what was asked for and answers with numbers of a formula.
class FakeTraining {
 public:
  FederatedModelSource Source() {
    return {[this](const FederatedSetting& setting) -> base::StatusOr<FederatedRun> {
              asked_.insert(setting);
              if (const auto earlier = EarlierSetting(setting)) asked_.insert(*earlier);
              FederatedRun run;
              for (const std::int64_t part : {1, 2, 4}) {
                const double accuracy = 0.01 * static_cast<double>(part);
                run.evaluations.push_back({setting.rounds * part / 4, accuracy, accuracy, 100});
              }
              if (setting.noise_multiplier > 0) run.promise = {{2.5, 1e-4, kStated}};
              run.options = {{"seed", "7"}};
              return run;
            },
            [](const FederatedSetting&) -> base::StatusOr<std::vector<HeadWordCounts>> {
              return std::vector<HeadWordCounts>{{10, {4}}, {50, {1, 3}}};
            }};
  }
  const std::set<FederatedSetting>& asked() const { return asked_; }

 private:
  std::set<FederatedSetting> asked_;
};

TEST(FederatedFiguresTest, EveryFigureAndTableIsWhole) {
  FakeTraining training;
  ASSERT_EQ(FederatedNames().size(), 15u);
  for (const std::string& name : FederatedNames()) {
    SCOPED_TRACE(name);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const FigurePage page,
                                MakeFederatedPage(name, {}, training.Source()));
    EXPECT_EQ(page.figure.name, name);
    EXPECT_THAT(page.figure.title, HasSubstr("DP-FedAvg"));
    std::set<std::string> curves;
    for (const FigureCurve& curve : page.figure.curves) {
      EXPECT_TRUE(curves.insert(curve.name).second) << curve.name;
      EXPECT_FALSE(curve.guarantee.empty());
      ASSERT_FALSE(curve.points.empty());
      for (std::size_t i = 1; i < curve.points.size(); ++i) {
        EXPECT_GT(std::abs(curve.points[i].x - curve.points[i - 1].x), 0) << curve.name;
      }
    }
    const auto json = nlohmann::json::parse(page.json);
    EXPECT_EQ(json["name"], name);
    for (const auto& trained : json.value("trainings", nlohmann::json::array())) {
      EXPECT_EQ(trained["options"]["seed"], "7");
      // An epsilon never stands without its statement, and only where there is a ledger.
      EXPECT_EQ(!trained["epsilon"].is_null(), trained["setting"]["noise_multiplier"] > 0);
      EXPECT_EQ(!trained["epsilon"].is_null(), trained.contains("statement"));
    }
    EXPECT_EQ(NeedsTraining(name), json.contains("trainings"));
  }
  // Shared between figures: the baseline is one training, as is each pair of S and noise.
  EXPECT_LT(training.asked().size(), 65u);
}

TEST(FederatedFiguresTest, TheBaselineOfFigure1IsThatOfFigure5AndTable2) {
  FakeTraining first;
  SUBMIX_ASSERT_OK(MakeFederatedPage("dp-fedavg-fig1", {}, first.Source()));
  const FederatedSetting baseline = Baseline({});
  EXPECT_TRUE(baseline.fixed_size_sample);
  EXPECT_TRUE(std::isinf(baseline.clip_norm));
  for (const char* name : {"dp-fedavg-fig5", "dp-fedavg-table2", "dp-fedavg-table3"}) {
    FakeTraining other;
    SUBMIX_ASSERT_OK(MakeFederatedPage(name, {}, other.Source()));
    EXPECT_TRUE(other.asked().contains(baseline)) << name;
  }
  EXPECT_TRUE(first.asked().contains(baseline));
  // Figure 4 goes on from a training of Figure 1.
  FakeTraining late;
  SUBMIX_ASSERT_OK(MakeFederatedPage("dp-fedavg-fig8", {}, late.Source()));
  const auto shared = std::ranges::find_if(late.asked(), [&](const FederatedSetting& setting) {
    return first.asked().contains(setting);
  });
  EXPECT_NE(shared, late.asked().end());
}

TEST(FederatedFiguresTest, TheSampleOfFixedSizeSaysThatNoStatementCoversIt) {
  FakeTraining training;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FigurePage page,
                              MakeFederatedPage("dp-fedavg-fig5", {}, training.Source()));
  EXPECT_THAT(page.figure.curves[0].guarantee, HasSubstr("no price for (research)"));
  EXPECT_THAT(page.body, HasSubstr("does not cover it"));
  EXPECT_THAT(page.json, Not(HasSubstr("statement\":")));
}

TEST(FederatedFiguresTest, SimulatedNoiseIsThatOfTable2) {
  const FederatedSetting setting = Noisy({}, 10, 1667);
  EXPECT_NEAR(NoiseDeviation(setting), 0.006, 1e-5);
  EXPECT_EQ(setting.noise_multiplier, 0);
  const FederatedSetting really = Private({}, /*is_fedsgd=*/false);
  EXPECT_NEAR(NoiseDeviation(really), 0.012, 1e-9);
  EXPECT_EQ(really.noise_multiplier, 1);
}

TEST(FederatedFiguresTest, NoMoreUsersARoundThanThereAre) {
  FederatedSize size;
  size.population = 40;
  FakeTraining training;
  for (const std::string& name : FederatedNames()) {
    SUBMIX_ASSERT_OK(MakeFederatedPage(name, size, training.Source()));
  }
  for (const FederatedSetting& setting : training.asked()) EXPECT_LE(setting.expected_users, 40);
}

TEST(FederatedFiguresTest, Table1IsThePapers) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FigurePage page, MakeFederatedPage("dp-fedavg-table1", {}, {}));
  int numbers = 0;
  const auto json = nlohmann::json::parse(page.json);
  for (const auto& row : json["rows"]) {
    for (const auto& cell : row["epsilons"]) {
      ++numbers;
      EXPECT_NEAR(cell["epsilon"].get<double>(), cell["paper"].get<double>(), 0.005 + 1e-9);
      EXPECT_LE(cell["best_order_epsilon"].get<double>(), cell["epsilon"].get<double>());
    }
  }
  EXPECT_EQ(numbers, 42);
}

TEST(FederatedFiguresTest, Table2WritesWhatWasTrainedPrivately) {
  FakeTraining training;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FigurePage page,
                              MakeFederatedPage("dp-fedavg-table2", {}, training.Source()));
  const auto file = std::ranges::find(page.files, "private_training.csv",
                                      &std::pair<std::string, std::string>::first);
  ASSERT_NE(file, page.files.end());
  EXPECT_EQ(file->second,
            "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n"
            "fedavg,word-lstm,user,inf,0,100,0.04,5000\n"
            "dp-fedavg,word-lstm,user,2.5,0.0001,100,0.04,5000\n"
            "fedsgd,word-lstm,user,inf,0,100,0.04,20000\n"
            "dp-fedsgd,word-lstm,user,2.5,0.0001,100,0.04,5000\n");
  EXPECT_THAT(page.body, HasSubstr("<td>unit</td><td>all text of one user key</td>"));
}

TEST(FederatedFiguresTest, RefusesANameThatItDoesNotKnow) {
  EXPECT_THAT(MakeFederatedPage("dp-fedavg-fig13", {}, {}),
              StatusIs(StatusCode::kNotFound, HasSubstr("dp-fedavg-fig12")));
}

}  // namespace federated_figures_test
}  // namespace submix::eval

#include "submix/eval/audits/asked_queries.h"

#include <cmath>

#include "submix/base/testing/status_matchers.h"
#include "submix/ensemble/testing/fake_predictor.h"
#include "submix/eval/audits/roc_curve.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace asked_queries_test {

constexpr int kParts = 4;
constexpr int kVocabulary = 30;

DistinguishingGame MakeGame(const std::string& name, std::int64_t queries) {
  mechanism::MechanismOptions options;
  options.name = name;
  options.num_parts = kParts;
  options.target_leakage = 2.0 / static_cast<double>(queries);
  return *DistinguishingGame::Create({*mechanism::MakeAnyMechanism(options), kParts},
                                     {.transcripts = 2000});
}

HeldoutBlocks Text() {
  HeldoutBlocks blocks;
  for (int b = 0; b < 2; ++b) {
    blocks.emplace_back();
    for (int t = 0; t < 21; ++t) blocks.back().push_back((11 * b + 5 * t) % kVocabulary);
  }
  return blocks;
}

double Area(const std::string& mechanism, bool only_most_telling,
            std::vector<RowReplacement> replacements) {
  ensemble::FakePredictor predictor(kParts + 1, kVocabulary, 1.0);
  NeighbouringWorlds worlds(kParts, 1, kVocabulary, std::move(replacements));
  std::vector<DistinguishingGame> games;
  games.push_back(MakeGame(mechanism, 40));
  const QueryPlan plan = {40, only_most_telling};
  base::ProgressBar progress("test", QuerySteps(Text(), plan, 1), "", base::ProgressStyle::kSilent);
  EXPECT_TRUE(AskQueries(predictor, Text(), worlds, plan, games, progress).ok());
  return RocCurve(games[0].with(), games[0].without()).area();
}

TEST(AskedQueriesTest, TheMostTellingQueryTellsMost) {
  const double each = Area("dclip", false, ReplacedByPublic(1, 1));
  const double worst = Area("dclip", true, ReplacedByPublic(1, 1));
  EXPECT_GT(each, 0.55);
  EXPECT_GT(worst, each);
}

// Row 5 is another training of member 1: what a user's text changed.
TEST(AskedQueriesTest, AnotherMemberMayStandInForOne) {
  EXPECT_GT(Area("filtered-submix", false, {{2, 5}}), 0.52);
  EXPECT_EQ(Area("filtered-submix", false, {{2, 2}}), 0.5);
}

TEST(AskedQueriesTest, TooLittleTextIsRefused) {
  ensemble::FakePredictor predictor(kParts, kVocabulary, 1.0);
  NeighbouringWorlds worlds(kParts, 1, kVocabulary, ReplacedByPublic(0, 1));
  std::vector<DistinguishingGame> games;
  base::ProgressBar progress("test", 0, "", base::ProgressStyle::kSilent);
  EXPECT_THAT(
      AskQueries(predictor, Text(), worlds, {41, false}, games, progress),
      base::StatusIs(base::StatusCode::kInvalidArgument, testing::HasSubstr("40 positions")));
}

}  // namespace asked_queries_test
}  // namespace submix::eval

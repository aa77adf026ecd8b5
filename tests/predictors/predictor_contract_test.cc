// What every predictor promises. Compiled once for each, with one that makes it (tested_….cc).
#include <algorithm>
#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/predictor_checks.h"
#include "submix/model/testing/tiny_model.h"
#include "tests/predictors/tested_predictor.h"

namespace submix {
namespace {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::HasSubstr;

// Different orders of summation in float32 over these tiny models.
constexpr double kTolerance = 1e-4;

using Logits = std::vector<float>;

std::vector<double> LogSoftmax(std::span<const float> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - most);
  std::vector<double> result;
  for (const float x : logits) result.push_back(x - most - std::log(sum));
  return result;
}

Logits StepOrDie(ensemble::Predictor& predictor,
                 const std::vector<ensemble::Predictor::Append>& appends) {
  Logits logits(ensemble::CountPredicting(appends) *
                static_cast<std::size_t>(predictor.num_members() + 1) *
                static_cast<std::size_t>(predictor.vocab_size()));
  SUBMIX_EXPECT_OK(predictor.Step(appends, logits));
  return logits;
}

// [T - 1][(M + 1) * V], for positions 1 .. T-1.
std::vector<Logits> ScoreOrDie(ensemble::Predictor& predictor, std::span<const TokenId> tokens) {
  std::vector<Logits> positions;
  SUBMIX_EXPECT_OK(predictor.Score(tokens, 1, [&](std::size_t, std::span<const float> logits) {
    positions.emplace_back(logits.begin(), logits.end());
    return base::OkStatus();
  }));
  return positions;
}

void ExpectNear(std::span<const float> a, std::span<const float> b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(difference <= worst)) worst = difference;
  }
  EXPECT_LE(worst, tolerance);
}

std::span<const float> Row(const ensemble::Predictor& predictor, std::span<const float> logits,
                           std::size_t sequence, std::size_t row) {
  const auto rows = static_cast<std::size_t>(predictor.num_members() + 1);
  const auto vocab = static_cast<std::size_t>(predictor.vocab_size());
  return logits.subspan((sequence * rows + row) * vocab, vocab);
}

model::LoraConfig AllModules(std::vector<int> layers = {}) {
  model::LoraConfig config;
  config.rank = 3;
  config.lora_alpha = 6;
  config.target_modules = {"c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"};
  config.layers = std::move(layers);
  return config;
}

class PredictorContractTest : public ::testing::Test {
 protected:
  PredictorContractTest() : config_(model::TinyConfig()) {
    model::WriteTinyModel(public_directory(), config_, /*seed=*/1);
  }

  std::string public_directory() const { return directory_.File("public"); }

  std::string Adapter(std::uint64_t seed, std::vector<int> layers = {}) {
    const std::string path = directory_.File("adapter" + std::to_string(seed));
    model::WriteTinyAdapter(path, config_, AllModules(std::move(layers)), seed);
    return path;
  }

  std::unique_ptr<ensemble::Predictor> Load(std::vector<std::string> members) {
    auto predictor = LoadTestedPredictor({public_directory(), std::move(members)});
    SUBMIX_EXPECT_OK(predictor);
    return *std::move(predictor);
  }

  base::TemporaryDirectory directory_;
  model::DecoderConfig config_;
};

TEST_F(PredictorContractTest, StepTokenByTokenEqualsScore) {
  for (const std::vector<int>& layers : {std::vector<int>{}, std::vector<int>{2}}) {
    const auto predictor = Load({Adapter(2, layers), Adapter(3, layers), Adapter(4, layers)});
    const std::vector<TokenId> tokens = model::RandomTokens(20, config_.vocab_size, 5);
    const std::vector<Logits> scored = ScoreOrDie(*predictor, tokens);
    ASSERT_EQ(scored.size(), tokens.size() - 1);
    const ensemble::SequenceId sequence = predictor->Open();
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
      const Logits stepped = StepOrDie(*predictor, {{sequence, std::span(tokens).subspan(t, 1)}});
      ExpectNear(stepped, scored[t], kTolerance);
    }
  }
}

TEST_F(PredictorContractTest, WholePromptEqualsTokenByToken) {
  const auto predictor = Load({Adapter(2), Adapter(3)});
  const std::vector<TokenId> tokens = model::RandomTokens(21, config_.vocab_size, 6);
  const ensemble::SequenceId whole = predictor->Open();
  const ensemble::SequenceId pieces = predictor->Open();
  const Logits at_once = StepOrDie(*predictor, {{whole, tokens}});
  StepOrDie(*predictor, {{pieces, std::span(tokens).first(18)}});
  StepOrDie(*predictor, {{pieces, std::span(tokens).subspan(18, 1)}});
  ExpectNear(StepOrDie(*predictor, {{pieces, std::span(tokens).subspan(19)}}), at_once, kTolerance);
}

// As prompts enter: pieces without logits, beside a sequence that has them.
TEST_F(PredictorContractTest, PiecesThatPredictNothingGiveTheSameInTheEnd) {
  const std::string other = directory_.File("other");
  model::WriteTinyModel(other, config_, /*seed=*/77);
  const auto predictor = Load({Adapter(2), other, Adapter(3)});
  const std::vector<TokenId> tokens = model::RandomTokens(21, config_.vocab_size, 6);
  const std::vector<TokenId> stream = model::RandomTokens(4, config_.vocab_size, 7);
  const Logits at_once = StepOrDie(*predictor, {{predictor->Open(), tokens}});
  const ensemble::SequenceId alone = predictor->Open(), beside = predictor->Open();
  for (const std::size_t piece : {1, 5, 16, 20}) {
    SCOPED_TRACE(piece);
    const ensemble::SequenceId prompt = predictor->Open();
    StepOrDie(*predictor, {{prompt, std::span(tokens).first(piece), /*predicts=*/false}});
    const Logits last = StepOrDie(*predictor, {{prompt, std::span(tokens).subspan(piece)}});
    ExpectNear(last, at_once, kTolerance);
  }
  const ensemble::SequenceId first = predictor->Open(), last = predictor->Open();
  for (std::size_t step = 0; step < stream.size(); ++step) {
    const std::span<const TokenId> token = std::span(stream).subspan(step, 1);
    const bool is_over = step + 1 == stream.size();
    const std::span<const TokenId> piece =
        is_over ? std::span(tokens).subspan(15) : std::span(tokens).subspan(5 * step, 5);
    const Logits found =
        StepOrDie(*predictor, {{first, piece, is_over}, {beside, token}, {last, piece, false}});
    const Logits expected = StepOrDie(*predictor, {{alone, token}});
    ExpectNear(std::span(found).last(expected.size()), expected, kTolerance);
    if (is_over) ExpectNear(std::span(found).first(at_once.size()), at_once, kTolerance);
  }
}

TEST_F(PredictorContractTest, APrefixThatIsSharedIsThatOfEachWhoeverEndsFirst) {
  const std::string other = directory_.File("other");
  model::WriteTinyModel(other, config_, /*seed=*/77);
  const auto predictor = Load({Adapter(2), other, Adapter(3, {2})});
  const int shared = predictor->prefix_granule();
  if (shared == 0) GTEST_SKIP() << "shares nothing";
  const std::vector<TokenId> tokens = model::RandomTokens(21, config_.vocab_size, 6);
  const std::vector<TokenId> others = model::RandomTokens(21, config_.vocab_size, 8);
  const std::span<const TokenId> rest = std::span(tokens).subspan(static_cast<std::size_t>(shared));
  const Logits at_once = StepOrDie(*predictor, {{predictor->Open(), tokens}});
  const ensemble::SequenceId whole = predictor->Open();
  StepOrDie(*predictor, {{whole, std::span(tokens).first(20), /*predicts=*/false}});
  const ensemble::SequenceId first = predictor->OpenPrefix(whole, shared);
  const ensemble::SequenceId second = predictor->OpenPrefix(first, shared);
  ExpectNear(StepOrDie(*predictor, {{whole, std::span(tokens).last(1)}}), at_once, kTolerance);
  ExpectNear(StepOrDie(*predictor, {{first, rest}}), at_once, kTolerance);
  // Their memory is used again, but not what is shared with the last one.
  predictor->Close(whole);
  predictor->Close(first);
  StepOrDie(*predictor, {{predictor->Open(), others}});
  ExpectNear(StepOrDie(*predictor, {{second, rest}}), at_once, kTolerance);
}

TEST_F(PredictorContractTest, RaggedSequencesAnswerAsIfAlone) {
  const auto predictor = Load({Adapter(2), Adapter(3)});
  const std::vector<TokenId> a = model::RandomTokens(17, config_.vocab_size, 7);
  const std::vector<TokenId> b = model::RandomTokens(3, config_.vocab_size, 8);
  const ensemble::SequenceId first = predictor->Open();
  const ensemble::SequenceId second = predictor->Open();
  const ensemble::SequenceId alone_a = predictor->Open();
  const ensemble::SequenceId alone_b = predictor->Open();
  const Logits both = StepOrDie(*predictor, {{first, a}, {second, b}});
  const Logits only_a = StepOrDie(*predictor, {{alone_a, a}});
  const Logits only_b = StepOrDie(*predictor, {{alone_b, b}});
  const std::size_t half = both.size() / 2;
  ExpectNear(std::span(both).first(half), only_a, kTolerance);
  ExpectNear(std::span(both).subspan(half), only_b, kTolerance);
  // Also when the order changes in the next step.
  const std::vector<TokenId> next = {11, 12};
  const Logits swapped = StepOrDie(*predictor, {{second, next}, {first, next}});
  ExpectNear(std::span(swapped).first(half), StepOrDie(*predictor, {{alone_b, next}}), kTolerance);
}

TEST_F(PredictorContractTest, AnotherMembersAdapterLeavesARowBitwiseUnchanged) {
  const std::string kept = Adapter(2);
  const auto before = Load({Adapter(3), kept, Adapter(4)});
  const auto after = Load({Adapter(13), kept, Adapter(14)});
  const std::vector<TokenId> tokens = model::RandomTokens(19, config_.vocab_size, 9);
  const std::vector<Logits> scored_before = ScoreOrDie(*before, tokens);
  const std::vector<Logits> scored_after = ScoreOrDie(*after, tokens);
  const Logits stepped_before = StepOrDie(*before, {{before->Open(), tokens}});
  const Logits stepped_after = StepOrDie(*after, {{after->Open(), tokens}});
  for (const std::size_t row : {std::size_t{0}, std::size_t{2}}) {
    ExpectNear(Row(*before, stepped_before, 0, row), Row(*after, stepped_after, 0, row), 0);
    for (std::size_t t = 0; t < scored_before.size(); ++t) {
      ExpectNear(Row(*before, scored_before[t], 0, row), Row(*after, scored_after[t], 0, row), 0);
    }
  }
  EXPECT_NE(Row(*before, stepped_before, 0, 1)[0], Row(*after, stepped_after, 0, 1)[0]);
}

TEST_F(PredictorContractTest, ABrokenMemberSpoilsOnlyItsOwnRow) {
  const std::string broken = Adapter(3);
  auto adapter = model::LoadLoraAdapter(broken, config_);
  SUBMIX_ASSERT_OK(adapter);
  // Finite, as a file must be, but not what it computes.
  std::ranges::fill(adapter->modules[0].a, 3e38f);
  SUBMIX_ASSERT_OK(model::SaveLoraAdapter(*adapter, config_, broken));
  const std::string kept = Adapter(2);
  const auto healthy = Load({kept, Adapter(4)});
  const auto predictor = Load({kept, broken});
  const std::vector<TokenId> tokens = model::RandomTokens(10, config_.vocab_size, 9);
  const Logits expected = StepOrDie(*healthy, {{healthy->Open(), tokens}});
  const Logits logits = StepOrDie(*predictor, {{predictor->Open(), tokens}});
  ExpectNear(Row(*predictor, logits, 0, 0), Row(*healthy, expected, 0, 0), 0);
  ExpectNear(Row(*predictor, logits, 0, 1), Row(*healthy, expected, 0, 1), 0);
  EXPECT_TRUE(std::isnan(Row(*predictor, logits, 0, 2)[0]));
}

// A member without text: the same work as any other's, on a second factor of zeros.
TEST_F(PredictorContractTest, AMemberThatAddsNothingIsThePublicRow) {
  for (const std::vector<int>& layers : {std::vector<int>{}, std::vector<int>{2}}) {
    const std::string empty = Adapter(3, layers);
    SUBMIX_ASSERT_OK_AND_ASSIGN(auto adapter, model::LoadLoraAdapter(empty, config_));
    for (model::LoraModule& module : adapter.modules) std::ranges::fill(module.b, 0.0f);
    SUBMIX_ASSERT_OK(model::SaveLoraAdapter(adapter, config_, empty));
    const auto predictor = Load({Adapter(2, layers), empty, Adapter(4, layers)});
    const std::vector<TokenId> tokens = model::RandomTokens(12, config_.vocab_size, 9);
    const Logits scored = ScoreOrDie(*predictor, tokens).back();
    const Logits stepped = StepOrDie(*predictor, {{predictor->Open(), tokens}});
    for (const Logits& logits : {scored, stepped}) {
      ExpectNear(Row(*predictor, logits, 0, 2), Row(*predictor, logits, 0, 0), 0);
      EXPECT_NE(Row(*predictor, logits, 0, 1)[0], Row(*predictor, logits, 0, 0)[0]);
    }
  }
}

TEST_F(PredictorContractTest, WholeModelsAndAdaptersMix) {
  const std::string other = directory_.File("other");
  model::WriteTinyModel(other, config_, /*seed=*/77);
  const auto predictor = Load({Adapter(2), other, Adapter(3)});
  const auto adapters = Load({Adapter(2), Adapter(3)});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto alone, LoadTestedPredictor({other}));
  const std::vector<TokenId> tokens = model::RandomTokens(12, config_.vocab_size, 9);
  const std::vector<Logits> scored = ScoreOrDie(*predictor, tokens);
  const std::vector<Logits> scored_adapters = ScoreOrDie(*adapters, tokens);
  const std::vector<Logits> scored_alone = ScoreOrDie(*alone, tokens);
  const Logits& last = scored.back();
  ExpectNear(Row(*predictor, last, 0, 0), Row(*adapters, scored_adapters.back(), 0, 0), kTolerance);
  ExpectNear(Row(*predictor, last, 0, 1), Row(*adapters, scored_adapters.back(), 0, 1), kTolerance);
  ExpectNear(Row(*predictor, last, 0, 2), scored_alone.back(), kTolerance);
  ExpectNear(Row(*predictor, last, 0, 3), Row(*adapters, scored_adapters.back(), 0, 2), kTolerance);
  const Logits stepped =
      StepOrDie(*predictor, {{predictor->Open(), std::span(tokens).first(tokens.size() - 1)}});
  ExpectNear(stepped, last, kTolerance);
}

TEST_F(PredictorContractTest, ChunksOfMembersChangeNothing) {
  const std::vector<std::string> members = {Adapter(2), Adapter(3), Adapter(4)};
  const auto whole = Load(members);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto chunked, LoadTestedPredictor({public_directory(), members, /*rows_at_a_time=*/1}));
  const std::vector<TokenId> tokens = model::RandomTokens(12, config_.vocab_size, 3);
  ExpectNear(ScoreOrDie(*chunked, tokens).back(), ScoreOrDie(*whole, tokens).back(), kTolerance);
}

TEST_F(PredictorContractTest, RefusesWhatDoesNotFitAndAppendsNothing) {
  const auto predictor = Load({Adapter(2)});
  const ensemble::SequenceId sequence = predictor->Open();
  const std::vector<TokenId> long_prompt = model::RandomTokens(25, config_.vocab_size, 1);
  Logits logits(2 * static_cast<std::size_t>(config_.vocab_size));
  const std::vector<ensemble::Predictor::Append> too_long = {{sequence, long_prompt}};
  EXPECT_THAT(predictor->Step(too_long, logits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("context of 24")));
  const std::vector<TokenId> foreign = {1, 53};
  const std::vector<ensemble::Predictor::Append> bad_id = {{sequence, foreign}};
  EXPECT_THAT(predictor->Step(bad_id, logits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("vocabulary of 53")));
  const std::vector<ensemble::Predictor::Append> empty = {{sequence, {}}};
  EXPECT_THAT(predictor->Step(empty, logits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
  const std::vector<TokenId> one = {1};
  const std::vector<ensemble::Predictor::Append> unknown = {{sequence + 1, one}};
  EXPECT_THAT(predictor->Step(unknown, logits),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("unknown sequence")));
  // The sequence is still empty: the whole context fits.
  StepOrDie(*predictor, {{sequence, std::span(long_prompt).first(24)}});
  EXPECT_THAT(predictor->Score(model::RandomTokens(26, config_.vocab_size, 1), 1, nullptr),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("26 tokens")));
}

TEST_F(PredictorContractTest, ScoreStopsAtTheSinksFirstError) {
  const auto predictor = Load({});
  int calls = 0;
  const base::Status status =
      predictor->Score(model::RandomTokens(9, config_.vocab_size, 1), 3,
                       [&](std::size_t position, std::span<const float>) {
                         ++calls;
                         return position == 5 ? base::UnavailableError("enough") : base::OkStatus();
                       });
  EXPECT_THAT(status, StatusIs(StatusCode::kUnavailable, HasSubstr("enough")));
  EXPECT_EQ(calls, 3);
}

TEST_F(PredictorContractTest, RefusesMembersOfAnotherShape) {
  model::DecoderConfig wider = config_;
  wider.vocab_size = 60;
  const std::string other = directory_.File("wider");
  model::WriteTinyModel(other, wider, 1);
  EXPECT_THAT(LoadTestedPredictor({public_directory(), {other}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("60")));
}

// Log-probabilities of every case in a reference file against the model in `directory`.
void ExpectReference(const std::string& directory, const std::string& reference, double tolerance) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto predictor, LoadTestedPredictor({directory}));
  std::ifstream file(reference);
  const nlohmann::json json = nlohmann::json::parse(file);
  for (const nlohmann::json& item : json.at("cases")) {
    const auto tokens = item.at("token_ids").get<std::vector<TokenId>>();
    const auto expected = item.at("next_token_log_probabilities").get<std::vector<double>>();
    SUBMIX_ASSERT_OK(
        predictor->Score(tokens, 1, [&](std::size_t position, std::span<const float> logits) {
          const auto target = static_cast<std::size_t>(tokens[position]);
          EXPECT_NEAR(LogSoftmax(logits)[target], expected[position - 1], tolerance);
          return base::OkStatus();
        }));
    const ensemble::SequenceId sequence = predictor->Open();
    const std::vector<double> last = LogSoftmax(StepOrDie(*predictor, {{sequence, tokens}}));
    predictor->Close(sequence);
    const nlohmann::json& at_last = item.at("last_position");
    for (std::size_t i = 0; i < at_last.at("top8_ids").size(); ++i) {
      const auto id = at_last.at("top8_ids").at(i).get<std::size_t>();
      EXPECT_NEAR(last[id], at_last.at("top8_log_probabilities").at(i).get<double>(), tolerance);
    }
  }
}

TEST(PredictorReferenceTest, EqualsPyTorchOnThePublicModel) {
  const std::string directory = std::string(SUBMIX_SHARED_DIR) + "/data/models/base-8k";
  if (!base::FileExists(directory)) GTEST_SKIP() << "no " << directory;
  ExpectReference(directory, directory + "/reference.json", 1e-3);
}

TEST(PredictorReferenceTest, EqualsPyTorchOnTheBundledModelUpToItsHalfFloats) {
  // Weights rounded to F16: eleven bits of mantissa over six layers.
  ExpectReference(std::string(SUBMIX_DATA_DIR) + "/public_model",
                  std::string(SUBMIX_TESTDATA_DIR) + "/base_8k_reference.json", 3e-2);
}

}  // namespace
}  // namespace submix

#include "submix/engine/private_sampler.h"

#include <limits>
#include <string>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/engine/testing/watched_engine.h"

namespace submix::engine {
namespace private_sampler_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

constexpr std::size_t kVocabulary = 5;
constexpr int kParts = 4;

std::unique_ptr<mechanism::Mechanism> FilteredSubmix() {
  mechanism::MechanismOptions options;
  options.name = "filtered-submix";
  options.num_parts = kParts;
  options.target_leakage = 0.01;
  return mechanism::MakeAnyMechanism(options).value();
}

class PrivateSamplerTest : public testing::Test {
 protected:
  base::StatusOr<std::unique_ptr<PrivateSampler>> Create(int num_members) {
    return PrivateSampler::Create({mechanism_.get(), &ledger_, random_.get()}, num_members);
  }

  Prediction Predict(std::size_t rows = kParts) {
    return {std::span(logits_).first(kVocabulary),
            std::span(logits_).subspan(kVocabulary, rows * kVocabulary),
            {}};
  }

  WatchedLedger ledger_{kParts, 2};
  const std::unique_ptr<base::RandomSource> random_ = base::MakeSeededRandomSource(1);
  const std::unique_ptr<mechanism::Mechanism> mechanism_ = FilteredSubmix();
  std::vector<float> logits_ = std::vector<float>((1 + kParts) * kVocabulary, 0.5f);
};

TEST_F(PrivateSamplerTest, PaysForAStepInOneTransaction) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto sampler, Create(kParts));
  for (std::size_t i = 0; i < kParts; ++i) logits_[(1 + i) * kVocabulary + i] = 2;
  const std::vector<Prediction> step(3, Predict());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokens, sampler->Sample(step));
  ASSERT_EQ(tokens.size(), 3u);
  for (const SampledToken& token : tokens) {
    EXPECT_EQ(token.end, AnswerEnd::kNotYet);
    EXPECT_GE(token.token.value(), 0);
    EXPECT_LT(*token.token, static_cast<base::TokenId>(kVocabulary));
  }
  EXPECT_EQ(ledger_.transactions, 1);
  EXPECT_EQ(ledger_.releases, 3);
  EXPECT_GT(ledger_.SpentByPart(0), 0);
}

// Notes what is drawn before it is rekeyed: a fork of the process draws the same.
class RandomBeforeAFork final : public base::RandomSource {
 public:
  explicit RandomBeforeAFork(base::RandomSource& source) : source_(source) {}
  void Fill(std::span<std::byte> bytes) override {
    draws_shared += is_shared ? 1 : 0;
    source_.Fill(bytes);
  }
  void Rekey() override { is_shared = false; }

  bool is_shared = true;
  int draws_shared = 0;

 private:
  base::RandomSource& source_;
};

TEST_F(PrivateSamplerTest, DrawsNothingThatAForkDrawsToo) {
  RandomBeforeAFork random(*random_);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto sampler, PrivateSampler::Create({mechanism_.get(), &ledger_, &random}, kParts));
  for (int step = 0; step < 2; ++step) {
    random.is_shared = true;
    random.draws_shared = 0;
    SUBMIX_ASSERT_OK(sampler->Sample(std::vector{Predict()}));
    EXPECT_FALSE(random.is_shared);
    EXPECT_EQ(random.draws_shared, 0);
  }
}

TEST_F(PrivateSamplerTest, WithoutAPublicPmfNothingIsCharged) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto sampler, Create(kParts));
  const std::vector<float> broken(kVocabulary, std::numeric_limits<float>::quiet_NaN());
  Prediction prediction = Predict();
  prediction.public_logits = broken;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokens, sampler->Sample(std::vector{prediction}));
  EXPECT_EQ(tokens[0].end, AnswerEnd::kNoPrediction);
  EXPECT_EQ(tokens[0].token, std::nullopt);
  EXPECT_EQ(ledger_.releases, 0);
  // Beside one that has a pmf, it alone gets no token.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto both, sampler->Sample(std::vector{prediction, Predict()}));
  EXPECT_EQ(both[0].end, AnswerEnd::kNoPrediction);
  EXPECT_TRUE(both[1].token);
  EXPECT_EQ(ledger_.releases, 1);
}

TEST_F(PrivateSamplerTest, RefusesWhatDoesNotFitBeforeAnythingIsCharged) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto sampler, Create(kParts));
  const std::vector<Prediction> step = {Predict(), Predict(kParts - 1)};
  EXPECT_THAT(sampler->Sample(step),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("15 logits of members beside 5 of the public model: expected 4")));
  Prediction cold = Predict();
  cold.sampling.temperature = 0;
  EXPECT_THAT(sampler->Sample(std::vector{Predict(), cold}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("temperature")));
  EXPECT_EQ(ledger_.releases, 0);
}

TEST_F(PrivateSamplerTest, RefusesMembersThatDoNotDivideIntoParts) {
  for (const int members : {0, 3, 5}) {
    EXPECT_THAT(Create(members),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("for each of 4 parts")));
  }
}

// Many sequences are divided, of few each one's work; never both, since whoever works may not ask
// for others.
TEST(DividedStepTest, AsksForThreadsOnceAtATime) {
  constexpr std::size_t kWide = 140'000;
  WatchedLedger ledger(kParts, 20);
  const auto mechanism = FilteredSubmix();
  const auto random = base::MakeSeededRandomSource(1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto sampler, PrivateSampler::Create({mechanism.get(), &ledger, random.get()}, kParts));
  const std::vector<float> logits((1 + kParts) * kWide, .5f);
  const Prediction prediction{std::span(logits).first(kWide), std::span(logits).subspan(kWide), {}};
  bool is_dividing = false;
  std::vector<int> counts;
  const base::ForEach for_each = [&](int count, const std::function<void(int)>& body) {
    EXPECT_FALSE(is_dividing);
    is_dividing = true;
    counts.push_back(count);
    base::kInTurn(count, body);
    is_dividing = false;
  };
  SUBMIX_EXPECT_OK(sampler->Sample(std::vector(8, prediction), for_each));
  EXPECT_EQ(counts, std::vector({8, 8}));  // maps, proposals
  counts.clear();
  SUBMIX_EXPECT_OK(sampler->Sample(std::vector{prediction}, for_each));
  EXPECT_EQ(counts, std::vector({kParts, kParts, 274}));  // and blocks of 512 tokens, mixed
}

}  // namespace private_sampler_test
}  // namespace submix::engine

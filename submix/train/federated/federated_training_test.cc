#include "submix/train/federated/federated_training.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/train/federated/client_updates.h"
#include "submix/train/federated/federated_lstm.h"
#include "submix/train/fine_tuning/testing/thread_ranks.h"

namespace submix::train {
namespace federated_training_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::HasSubstr;

class FederatedTrainingTest : public ::testing::Test {
 protected:
  static constexpr WordLstmShape kShape = {.vocab_size = 15, .width = 4, .units = 6};

  void SetUp() override {
    for (int user = 0; user < 30; ++user) {
      users_.emplace_back();
      for (int i = user % 3; i < 24 + user % 5; ++i) users_.back().push_back(1 + i * i % 14);
    }
    heldout_ = {users_[0], users_[1]};
    start_ = InitialWordLstm(kShape, 1);
    options_.directory = directory_.File("run");
    options_.local = {.batch_size = 2, .unroll = 4, .learning_rate = 0.5};
    options_.clipping = {.norm = 1};
    options_.estimator = {false, 0.3, 30};
    options_.noise_multiplier = 1.1;
    options_.full_weight_tokens = 26;
    options_.rounds = 3;
    options_.delta = 1e-3;
    options_.evaluate_every = 2;
    options_.threads = 1;
  }

  base::StatusOr<FederatedResult> Train(std::uint64_t seed = 1) {
    const FederatedData data = {&model_, start_, users_, heldout_, "test"};
    const auto random = base::MakeSeededRandomSource(seed);
    reports_.clear();
    return TrainFederated(options_, data, *random, base::ProgressStyle::kSilent,
                          [this](const RoundReport& report) {
                            reports_.push_back(report);
                            return sink_status_;
                          });
  }

  double EpsilonOf(std::int64_t rounds) {
    return accounting::FedAvgBestEpsilon({30, 9, options_.noise_multiplier, rounds, options_.delta})
        .value()
        .epsilon;
  }

  base::TemporaryDirectory directory_;
  const FederatedLstm model_ = FederatedLstm(kShape);
  std::vector<std::vector<TokenId>> users_;
  std::vector<std::vector<TokenId>> heldout_;
  std::vector<float> start_;
  FederatedOptions options_;
  std::vector<RoundReport> reports_;
  base::Status sink_status_;
};

TEST_F(FederatedTrainingTest, GivesTheSameBitsOnAnyNumberOfThreads) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult one, Train());
  options_.directory = directory_.File("three");
  options_.threads = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult three, Train());
  EXPECT_EQ(one.parameters, three.parameters);
  EXPECT_NE(one.parameters, start_);
  options_.directory = directory_.File("another seed");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult other, Train(2));
  EXPECT_NE(other.parameters, one.parameters);
}

// Ranks have threads of their own; more ranks than users of a round is no trouble.
TEST_F(FederatedTrainingTest, GivesTheSameBitsOnAnyNumberOfRanks) {
  options_.estimator.clipped_divisor = true;  // looks at the sum of the weights too
  options_.schedule = {{2, 0.5, 1.3}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult alone, Train());
  for (const int size : {2, 3, 31}) {
    options_.directory = directory_.File(std::to_string(size) + " ranks");
    const auto root = [&](Ranks& ranks) {
      options_.ranks = &ranks;
      SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult spread, Train());
      EXPECT_EQ(spread.parameters, alone.parameters) << size;
      EXPECT_EQ(spread.epsilon, alone.epsilon);
    };
    RunOnThreadRanks(size, root, [this, size](Ranks& ranks) {
      SUBMIX_EXPECT_OK(ServeClientUpdates(ranks, model_, /*threads=*/size == 2 ? 2 : 1));
    });
  }
}

// One round, by hand: who takes part is drawn first, then the noise.
TEST_F(FederatedTrainingTest, ARoundIsAlgorithm1) {
  options_.rounds = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  const auto random = base::MakeSeededRandomSource(1);
  LocalPass pass(model_, options_.local);
  std::vector<double> sum(start_.size());
  std::int64_t users = 0;
  for (const auto& words : users_) {
    if (!random->NextBernoulli(static_cast<std::uint64_t>(0.3 * 0x1p53), std::uint64_t{1} << 53)) {
      continue;
    }
    ++users;
    const auto update = pass.Update(start_, words, options_.clipping);
    const double weight = std::min(1.0, static_cast<double>(words.size()) / 26);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * update[i];
  }
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].users, users);
  EXPECT_GT(users, 0);
  // What the result has beside the average is noise of z S / (q W) on every number; the embedding
  // is left out, which was scaled back to norm 1.
  const std::size_t begin = WordLstmVectors(kShape)[1].begin;
  double squares = 0;
  for (std::size_t i = begin; i < sum.size(); ++i) {
    squares += std::pow(result.parameters[i] - start_[i] - sum[i] / 9, 2);
  }
  const double deviation = 1.1 * 1 / 9;
  const double count = static_cast<double>(sum.size() - begin);
  EXPECT_NEAR(squares / count, deviation * deviation,
              6 * deviation * deviation * std::sqrt(2 / count));
  for (int w = 0; w < kShape.vocab_size; ++w) {
    double norm = 0;
    for (int j = 0; j < kShape.width; ++j) norm += std::pow(result.parameters[4 * w + j], 2);
    EXPECT_NEAR(norm, 1, 1e-5);
  }
}

TEST_F(FederatedTrainingTest, CountsEveryRoundAsTheMomentsAccountant) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  ASSERT_EQ(reports_.size(), 3u);
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(reports_[round - 1].round, round);
    EXPECT_NEAR(reports_[round - 1].epsilon, EpsilonOf(round), 1e-9);
  }
  ASSERT_TRUE(result.statement.has_value());
  EXPECT_THAT(result.statement->mechanism, HasSubstr("3 rounds charged"));
  const std::string text = result.statement->Labels();
  EXPECT_THAT(text, HasSubstr("unit: user key; adjacency: present or absent"));
  EXPECT_THAT(text, HasSubstr("independently"));
}

TEST_F(FederatedTrainingTest, EvaluatesNowAndThenAndAtTheEndAndSmooths) {
  options_.rounds = 5;
  SUBMIX_ASSERT_OK(Train());
  std::vector<bool> evaluated;
  for (const RoundReport& report : reports_) evaluated.push_back(report.heldout.has_value());
  EXPECT_THAT(evaluated, ::testing::ElementsAre(false, true, false, true, true));
  const double mean = (reports_[1].heldout->accuracy_top1 + reports_[3].heldout->accuracy_top1 +
                       reports_[4].heldout->accuracy_top1) /
                      3;
  EXPECT_NEAR(reports_[4].smoothed_accuracy_top1, mean, 1e-12);
  EXPECT_EQ(reports_[4].heldout->tokens, std::ssize(users_[0]) + std::ssize(users_[1]));
}

TEST_F(FederatedTrainingTest, GoesOnWhereItStoppedWithEverythingSpent) {
  options_.rounds = 2;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult two, Train());
  options_.rounds = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult three, Train(5));
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].round, 3);
  EXPECT_NEAR(three.epsilon, EpsilonOf(3), 1e-9);
  // Nothing is left to do: nothing is spent.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult again, Train());
  EXPECT_EQ(reports_.size(), 0u);
  EXPECT_EQ(again.parameters, three.parameters);
  EXPECT_EQ(again.epsilon, three.epsilon);
}

// A crash after the charge and before the checkpoint: the disk is full, or the process is killed.
TEST_F(FederatedTrainingTest, ARoundThatWasChargedAndLostIsSpent) {
  const std::string checkpoint = options_.directory + "/checkpoint.safetensors";
  options_.rounds = 1;
  SUBMIX_ASSERT_OK(Train());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string after_one, base::ReadFile(checkpoint));
  options_.rounds = 3;
  SUBMIX_ASSERT_OK(Train());
  SUBMIX_ASSERT_OK(base::WriteFile(checkpoint, after_one));
  options_.rounds = 2;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  EXPECT_EQ(result.rounds, 2);
  EXPECT_EQ(result.rounds_charged, 4);
  EXPECT_NEAR(result.epsilon, EpsilonOf(4), 1e-9);  // rounds 1, 2, 3, and 2 again
  // And stays spent.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult again, Train());
  EXPECT_NEAR(again.epsilon, EpsilonOf(4), 1e-9);
}

TEST_F(FederatedTrainingTest, EndsBeforeTheRoundThatWouldPassTheTarget) {
  options_.rounds = 100;
  options_.target_epsilon = EpsilonOf(4) * 1.001;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  EXPECT_TRUE(result.target_reached);
  EXPECT_EQ(result.rounds, 4);
  EXPECT_LE(result.epsilon, *options_.target_epsilon);
  options_.directory = directory_.File("nothing");
  options_.target_epsilon = 1e-3;
  EXPECT_THAT(Train(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("one step costs more")));
}

TEST_F(FederatedTrainingTest, ParametersThatAreNotFiniteAreNoticedBeforeMoreIsCharged) {
  options_.clipping.norm = 1e30;
  options_.estimator.weight = 1e-9;  // noise that float32 cannot hold
  const auto fails = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("round 1 are not finite"));
  EXPECT_THAT(Train(), fails);
  const std::string anchor = options_.directory + "/training/anchor";  // moves with every charge
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string charged, base::ReadFile(anchor));
  EXPECT_THAT(Train(), fails);
  EXPECT_EQ(base::ReadFile(anchor).value(), charged);
}

TEST_F(FederatedTrainingTest, SaysThatNoLedgerHoldsNoiseThatHidesNothing) {
  options_.noise_multiplier = 1e-4;
  EXPECT_THAT(Train(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("more noise")));
}

TEST_F(FederatedTrainingTest, TheScheduleChangesClippingAndNoise) {
  options_.noise_multiplier = 0.05;  // little, so that the step shows the clipping
  options_.estimator = {false, 1, 30};
  options_.rounds = 4;
  options_.delta = 0.5;
  options_.schedule = {{2, 1e-3, {}}, {4, 1e-3, 1e5}};
  SUBMIX_ASSERT_OK(Train());
  // The epsilon of the history: the same z for three rounds, then noise that costs nothing.
  EXPECT_GT(reports_[2].epsilon, reports_[0].epsilon);
  EXPECT_NEAR(reports_[3].epsilon / reports_[2].epsilon, 1, 1e-6);
  // Round 2 and 3 move the model by their clipping norm at most, and little noise.
  options_.directory = directory_.File("short");
  options_.rounds = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult one, Train());
  options_.rounds = 3;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult three, Train());
  double squares = 0;
  const std::size_t begin = WordLstmVectors(kShape)[1].begin;
  for (std::size_t i = begin; i < start_.size(); ++i) {
    squares += std::pow(three.parameters[i] - one.parameters[i], 2);
  }
  EXPECT_LT(std::sqrt(squares), 2.1e-3);
  EXPECT_GT(std::sqrt(squares), 1e-4);
}

TEST_F(FederatedTrainingTest, LearnsWithoutNoiseAndSaysThatItIsNotPrivate) {
  options_.noise_multiplier = 0;
  options_.clipping.norm = std::numeric_limits<double>::infinity();
  options_.estimator = {true, 0.5, 10};
  options_.local.learning_rate = 2;
  options_.rounds = 40;
  options_.evaluate_every = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  EXPECT_LT(reports_.back().heldout->loss, reports_.front().heldout->loss - 0.5);
  EXPECT_TRUE(std::isinf(result.epsilon));
  EXPECT_FALSE(result.statement.has_value());
  EXPECT_FALSE(base::FileExists(options_.directory + "/training"));
}

TEST_F(FederatedTrainingTest, FedSgdLearnsToo) {
  options_.local.algorithm = FederatedAlgorithm::kFedSgd;
  options_.local.learning_rate = 2;
  options_.noise_multiplier = 0;
  options_.clipping = {.norm = 2, .per_layer = true};
  options_.rounds = 40;
  options_.evaluate_every = 1;
  SUBMIX_ASSERT_OK(Train());
  EXPECT_LT(reports_.back().heldout->loss, reports_.front().heldout->loss - 0.1);
}

// One round, by hand: the paper's estimate of what more users a round would give.
TEST_F(FederatedTrainingTest, ASimulatedRoundHasTheNoiseOfMoreUsersAndPromisesNothing) {
  options_.rounds = 1;
  options_.noise_multiplier = 0;
  options_.clipping.norm = 2;
  options_.simulated.fixed_size_sample = true;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult quiet, Train());
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_EQ(reports_[0].users, 9);  // exactly 0.3 of 30
  options_.directory = directory_.File("noisy");
  options_.simulated.noise_of_clip = 0.05;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult noisy, Train());
  EXPECT_FALSE(noisy.statement.has_value());
  EXPECT_TRUE(std::isinf(noisy.epsilon));
  EXPECT_FALSE(base::FileExists(options_.directory + "/ledger.db"));
  const std::size_t begin = WordLstmVectors(kShape)[1].begin;
  double squares = 0;
  for (std::size_t i = begin; i < start_.size(); ++i) {
    squares += std::pow(noisy.parameters[i] - quiet.parameters[i], 2);
  }
  const double count = static_cast<double>(start_.size() - begin);
  EXPECT_NEAR(squares / count, 0.01, 6 * 0.01 * std::sqrt(2 / count));
  // It cannot go on as another training.
  options_.simulated.noise_of_clip = 0.04;
  EXPECT_THAT(Train(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
}

TEST_F(FederatedTrainingTest, RefusesToGoOnWithOtherOptionsOrWithoutItsLedger) {
  SUBMIX_ASSERT_OK(Train());
  options_.noise_multiplier = 2;
  EXPECT_THAT(Train(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
  options_.noise_multiplier = 1.1;
  SUBMIX_ASSERT_OK(base::Rename(options_.directory + "/training", directory_.File("hidden")));
  EXPECT_THAT(Train(), StatusIs(StatusCode::kDataLoss, HasSubstr("ledger is missing")));
  SUBMIX_ASSERT_OK(base::Rename(directory_.File("hidden"), options_.directory + "/training"));
  SUBMIX_ASSERT_OK(base::RemoveAll(options_.directory + "/checkpoint.safetensors"));
  EXPECT_THAT(Train(), StatusIs(StatusCode::kDataLoss, HasSubstr("without a checkpoint")));
}

// Whoever goes on need not make the start again, which public text may have made.
TEST_F(FederatedTrainingTest, KeepsItsStartIfACrashCameBeforeTheLedger) {
  const std::string checkpoint = options_.directory + "/checkpoint.safetensors";
  options_.should_stop = [] { return true; };
  EXPECT_THAT(Train(), StatusIs(StatusCode::kUnavailable, HasSubstr("after round 0")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string first, base::ReadFile(checkpoint));
  SUBMIX_ASSERT_OK(base::RemoveAll(options_.directory + "/training"));
  std::ranges::fill(start_, 0.0f);
  EXPECT_THAT(Train(), StatusIs(StatusCode::kUnavailable, HasSubstr("after round 0")));
  EXPECT_EQ(base::ReadFile(checkpoint).value(), first);
}

TEST_F(FederatedTrainingTest, RefusesOptionsOutOfRange) {
  const FederatedOptions good = options_;
  const auto expect_refused = [&](const char* what, auto change) {
    options_ = good;
    change(options_);
    EXPECT_THAT(Train(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect_refused("sampling", [](auto& o) { o.estimator.sampling_probability = 0; });
  expect_refused("sampling", [](auto& o) { o.estimator.sampling_probability = NAN; });
  expect_refused("population", [](auto& o) { o.estimator.weight = 0; });
  expect_refused("clip", [](auto& o) { o.clipping.norm = NAN; });
  expect_refused("without clipping", [](auto& o) { o.clipping.norm = INFINITY; });
  expect_refused("noise", [](auto& o) { o.noise_multiplier = -1; });
  expect_refused("outside every guarantee", [](auto& o) { o.simulated.noise_of_clip = 1; });
  expect_refused("outside every guarantee", [](auto& o) { o.simulated.fixed_size_sample = true; });
  expect_refused("share of the clipping", [](auto& o) {
    o.noise_multiplier = 0;
    o.simulated.noise_of_clip = NAN;
  });
  expect_refused("delta", [](auto& o) { o.delta = 1; });
  expect_refused("target", [](auto& o) { o.target_epsilon = 0; });
  expect_refused("clip", [](auto& o) { o.clipping.norm = 1e300; });
  expect_refused("learning_rate", [](auto& o) { o.local.learning_rate = NAN; });
  expect_refused("learning_rate", [](auto& o) { o.local.learning_rate = 1e300; });
  expect_refused("counts", [](auto& o) { o.rounds = 0; });
  expect_refused("schedule", [](auto& o) { o.schedule = {{5, 1, {}}, {5, 1, {}}}; });
  expect_refused("all rounds or for none", [](auto& o) { o.schedule = {{5, 1, 0.0}}; });
  options_ = good;
  users_.clear();
  EXPECT_THAT(Train(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("enough tokens")));
}

TEST_F(FederatedTrainingTest, StopsWhenAskedAndWhenTheReportCannotBeWritten) {
  options_.should_stop = [this] { return reports_.size() == 2; };
  EXPECT_THAT(Train(), StatusIs(StatusCode::kUnavailable, HasSubstr("after round 2")));
  options_.should_stop = nullptr;
  sink_status_ = base::ResourceExhaustedError("disk full");
  EXPECT_THAT(Train(), StatusIs(StatusCode::kResourceExhausted, HasSubstr("disk full")));
  sink_status_ = base::OkStatus();
  SUBMIX_ASSERT_OK_AND_ASSIGN(const FederatedResult result, Train());
  EXPECT_EQ(result.rounds, 3);
  EXPECT_NEAR(result.epsilon, EpsilonOf(3), 1e-9);
}

}  // namespace federated_training_test
}  // namespace submix::train

#include "submix/train/private_training/dp_sgd.h"

#include <filesystem>

#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/model/safetensors.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/models/testing/right_predictions.h"
#include "submix/train/private_training/user_gradient.h"
#include "submix/train/sampled_gaussian/clipped_sum.h"
#include "submix/train/sampled_gaussian/poisson_sampling.h"

namespace submix::train {
namespace dp_sgd_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr double kNever = 1e9;  // seconds

class DpSgdTest : public ::testing::Test {
 protected:
  DpSgdTest() : config_(model::TinyConfig()) {
    model::WriteTinyModel(public_directory(), config_, /*seed=*/1);
    options_.lora->rank = 2;
    options_.lora->target_modules = {"c_attn", "mlp.c_fc"};
    options_.block_tokens = 9;
    options_.blocks_at_a_time = 2;
    options_.clip_norm = 0.5;
    options_.expected_batch = 4;
    options_.steps = 6;
    options_.learning_rate.peak = 0.01;
    options_.learning_rate.warmup_fraction = 0;
    options_.threads = 1;
    options_.checkpoint_seconds = kNever;
  }

  std::string public_directory() const { return directory_.File("public"); }

  static accounting::StepBudget Budget(double q, double z, double epsilon) {
    return *accounting::StepBudget::Plan({q, z}, {epsilon, 1e-5});
  }

  // Users of no, one, and several blocks.
  DpSgdTask Task(const std::string& place) const {
    DpSgdTask task;
    task.output_directory = directory_.File(place) + "/out";
    task.account_directory = directory_.File(place) + "/training";
    std::filesystem::create_directories(directory_.File(place));
    for (std::uint64_t user = 0; user < 8; ++user) {
      TrainingUnit unit;
      for (std::uint64_t block = 0; block < user % 4; ++block) {
        unit.push_back(
            model::RandomTokens(1 + (3 * user + block) % 9, config_.vocab_size, 10 * user + block));
      }
      task.units.push_back(unit);
    }
    return task;
  }

  base::StatusOr<DpSgdResult> Train(const DpSgdTask& task, const accounting::StepBudget& budget,
                                    std::uint64_t seed = 1) const {
    const auto random = base::MakeSeededRandomSource(seed);
    return TrainDpSgd(public_directory(), task, options_, budget, *random,
                      base::ProgressStyle::kSilent);
  }

  static std::vector<float> Numbers(const std::string& path, const std::string& only = "") {
    auto file = model::SafetensorsFile::Open(path);
    SUBMIX_EXPECT_OK(file);
    std::vector<float> all;
    for (const auto& [name, view] : (*file)->tensors()) {
      if (!only.empty() && name != only) continue;
      std::vector<float> values(static_cast<std::size_t>(view.num_elements()));
      model::ConvertToFloat(view, values);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }
  static std::vector<float> Adapter(const DpSgdTask& task) {
    return Numbers(task.output_directory + "/adapter_model.safetensors");
  }

  // What a crash before step `step` would leave, in `copy`.
  void CopyBeforeStep(const std::string& place, int step, const std::string& copy) {
    options_.should_stop = [this, place, copy, left = step]() mutable {
      if (left-- == 0) {
        std::filesystem::copy(directory_.File(place), directory_.File(copy),
                              std::filesystem::copy_options::recursive);
      }
      return false;
    };
  }

  base::TemporaryDirectory directory_;
  model::DecoderConfig config_;
  DpSgdOptions options_;
};

TEST_F(DpSgdTest, LearnsWhatEveryUserWrites) {
  const std::vector<base::TokenId> sentence = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  for (const bool full : {false, true}) {
    DpSgdTask task = Task(full ? "full" : "adapter");
    task.units.assign(30, {sentence});
    if (full) options_.lora.reset();
    options_.steps = 80;
    options_.expected_batch = 15;
    options_.learning_rate.peak = full ? 0.005 : 0.03;
    SUBMIX_ASSERT_OK(Train(task, Budget(0.5, 1.0, 200)));
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        const int right, RightPredictions(public_directory(), task.output_directory, sentence));
    EXPECT_GE(right, 6) << full;
  }
}

TEST_F(DpSgdTest, AStepIsWhatIsAccounted) {
  const accounting::StepBudget budget = Budget(0.6, 1.3, 50);
  const DpSgdTask task = Task("a");
  options_.checkpoint_seconds = 0;
  CopyBeforeStep("a", 1, "after one");
  SUBMIX_ASSERT_OK(Train(task, budget, /*seed=*/9));
  const std::vector<float> moment =
      Numbers(directory_.File("after one") + "/out.partial/checkpoint.safetensors", "first_moment");

  // By hand: the same coins, then the same noise; divided by the public number, whatever was drawn.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PublicModel model,
                              LoadPublicModel(public_directory(), Precision::kFloat32));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto models,
                              MakeMembers(model, options_.lora, 1, Precision::kFloat32));
  models->Initialize(0, 0x5eed0000u);
  const auto random = base::MakeSeededRandomSource(9);
  UserGradient gradient(*models, 2);
  ClippedSum sum(models->parameters().size(), options_.clip_norm);
  const auto sample = SamplePoisson(task.units.size(), 0.6, *random);
  ASSERT_FALSE(sample.empty());
  ASSERT_NE(sample.size(), 4U);
  for (const std::size_t index : sample) {
    TrainingUnit unit = task.units[index];
    std::erase_if(unit, [](const auto& block) { return block.size() < 2; });
    if (!unit.empty()) sum.Add(gradient.Compute(unit));
  }
  const auto ledger = ledger::MakeMemoryLedger(1, budget.budget());
  const accounting::FixedNats charge = budget.charge();
  const ledger::ChargeRequest request = {.release_id = {1, 1}, .charges = {&charge, 1}};
  auto receipts = ledger->Charge({&request, 1});
  std::vector<float> expected(models->parameters().size());
  sum.Release({.weight = 4}, 1.3, std::move(receipts->front()), *random, expected);
  ASSERT_EQ(moment.size(), expected.size());
  for (std::size_t i = 0; i < moment.size(); ++i) ASSERT_NEAR(moment[i], 0.1 * expected[i], 1e-7);
}

TEST_F(DpSgdTest, StopsBeforeTheStepThatWouldExceedTheTarget) {
  const accounting::StepBudget budget = Budget(0.5, 3, 1.5);
  options_.steps = 1000;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult result, Train(Task("a"), budget));
  EXPECT_EQ(result.steps, budget.most_steps());
  EXPECT_EQ(result.steps_charged, budget.most_steps());
  EXPECT_LE(budget.EpsilonAfter(result.steps_charged).epsilon, 1.5);
  EXPECT_GT(budget.EpsilonAfter(result.steps_charged + 1).epsilon, 1.5);
}

TEST_F(DpSgdTest, TheNumberOfThreadsChangesNoBit) {
  const auto budget = Budget(0.75, 1, 100);
  std::vector<std::vector<float>> adapters;
  for (const int threads : {1, 2, 5}) {
    options_.threads = threads;
    const DpSgdTask task = Task(std::to_string(threads));
    SUBMIX_ASSERT_OK(Train(task, budget));
    adapters.push_back(Adapter(task));
  }
  EXPECT_EQ(adapters[1], adapters[0]);
  EXPECT_EQ(adapters[2], adapters[0]);
}

TEST_F(DpSgdTest, WhatFrozenLayersSayIsKeptWithoutChangingABit) {
  const auto budget = Budget(0.75, 1, 100);
  options_.lora->layers = {1, 2};
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    options_.precision = precision;
    options_.frozen_states = {};
    options_.threads = 2;
    const std::string name = PrecisionName(precision);
    const DpSgdTask kept = Task("kept " + name);
    SUBMIX_ASSERT_OK(Train(kept, budget));
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(kept.output_directory)) {
      files.push_back(entry.path().filename());
    }
    EXPECT_THAT(
        files, ::testing::UnorderedElementsAre("adapter_config.json", "adapter_model.safetensors"));
    options_.threads = 1;
    options_.frozen_states.most_bytes = 0;
    const DpSgdTask computed = Task("computed " + name);
    SUBMIX_ASSERT_OK(Train(computed, budget));
    EXPECT_EQ(Adapter(kept), Adapter(computed)) << name;
  }
}

TEST_F(DpSgdTest, AnEmptyBatchIsAStepLikeAnyOther) {
  const DpSgdTask task = Task("a");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult result, Train(task, Budget(1e-12, 1, 1)));
  EXPECT_EQ(result.steps, 6);
  EXPECT_EQ(result.steps_charged, 6);
  // Noise alone: another seed, another result; without private text the law is the same.
  const DpSgdTask other = Task("b");
  SUBMIX_ASSERT_OK(Train(other, Budget(1e-12, 1, 1), /*seed=*/2));
  EXPECT_NE(Adapter(task), Adapter(other));
  DpSgdTask nobody = Task("c");
  nobody.units.clear();
  SUBMIX_ASSERT_OK(Train(nobody, Budget(1e-12, 1, 1)));
  EXPECT_EQ(Adapter(nobody).size(), Adapter(task).size());
}

TEST_F(DpSgdTest, WhatACrashLosesStaysSpentAndIsDrawnAnew) {
  const accounting::StepBudget budget = Budget(0.5, 1.3, 50);
  CopyBeforeStep("a", 4, "crashed");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult whole, Train(Task("a"), budget));
  EXPECT_EQ(whole.steps, 6);
  EXPECT_EQ(whole.steps_charged, 6);
  options_.should_stop = nullptr;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult again, Train(Task("crashed"), budget, 2));
  EXPECT_EQ(again.steps, 6);
  EXPECT_EQ(again.steps_charged, 10);  // four were paid for and lost
  EXPECT_NE(Adapter(Task("a")), Adapter(Task("crashed")));
}

TEST_F(DpSgdTest, ALostStepCountsAgainstTheTarget) {
  const accounting::StepBudget budget = Budget(0.5, 3, 1.5);
  options_.steps = 1000;
  CopyBeforeStep("a", static_cast<int>(budget.most_steps()) - 2, "crashed");
  SUBMIX_ASSERT_OK(Train(Task("a"), budget));
  options_.should_stop = nullptr;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult again, Train(Task("crashed"), budget, 2));
  EXPECT_EQ(again.steps, 2);
  EXPECT_EQ(again.steps_charged, budget.most_steps());
}

TEST_F(DpSgdTest, GoesOnFromTheLastCheckpointWithoutSpendingTwice) {
  const accounting::StepBudget budget = Budget(0.5, 1.3, 50);
  options_.checkpoint_seconds = 0;
  CopyBeforeStep("a", 4, "crashed");
  SUBMIX_ASSERT_OK(Train(Task("a"), budget));
  options_.should_stop = nullptr;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult again, Train(Task("crashed"), budget, 2));
  EXPECT_EQ(again.steps, 6);
  EXPECT_EQ(again.steps_charged, 6);
  // A stop that was asked for leaves a checkpoint, whatever the clock says.
  options_.checkpoint_seconds = kNever;
  options_.should_stop = [left = 3]() mutable { return left-- == 0; };
  EXPECT_THAT(Train(Task("stopped"), budget), StatusIs(StatusCode::kUnavailable, _));
  options_.should_stop = nullptr;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const DpSgdResult resumed, Train(Task("stopped"), budget, 2));
  EXPECT_EQ(resumed.steps_charged, 6);
}

TEST_F(DpSgdTest, WeightsThatAreNotFiniteAreNoticedBeforeMoreIsCharged) {
  const accounting::StepBudget budget = Budget(0.5, 1.3, 50);
  const DpSgdTask task = Task("a");
  // A sum that float32 cannot hold: inf / inf in AdamW.
  options_.clip_norm = 1e30;
  options_.expected_batch = 1e-9;
  const auto fails = StatusIs(StatusCode::kFailedPrecondition, HasSubstr("1 steps are not finite"));
  EXPECT_THAT(Train(task, budget), fails);
  const std::string anchor = task.account_directory + "/anchor";  // moves with every charge
  SUBMIX_ASSERT_OK_AND_ASSIGN(const std::string charged, base::ReadFile(anchor));
  EXPECT_THAT(Train(task, budget), fails);
  EXPECT_EQ(base::ReadFile(anchor).value(), charged);
  EXPECT_FALSE(base::FileExists(task.output_directory));
}

TEST_F(DpSgdTest, RefusesAnOlderLedgerAndAnotherTraining) {
  const accounting::StepBudget budget = Budget(0.5, 1.3, 50);
  const DpSgdTask task = Task("a");
  options_.should_stop = [left = 3]() mutable { return left-- == 0; };
  EXPECT_THAT(Train(task, budget), StatusIs(StatusCode::kUnavailable, _));
  options_.should_stop = nullptr;
  DpSgdTask changed = task;
  changed.units[3].pop_back();
  EXPECT_THAT(Train(changed, budget), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("text")));
  options_.clip_norm *= 2;
  EXPECT_THAT(Train(task, budget), StatusIs(StatusCode::kFailedPrecondition, _));
  options_.clip_norm /= 2;
  EXPECT_THAT(Train(task, Budget(0.5, 1.3, 60)), StatusIs(StatusCode::kFailedPrecondition, _));
  // A new ledger in the old one's place knows nothing of three steps.
  std::filesystem::remove_all(task.account_directory);
  EXPECT_THAT(Train(task, budget), StatusIs(StatusCode::kDataLoss, HasSubstr("ledger")));
}

TEST_F(DpSgdTest, RefusesWhatDoesNotFitTheModel) {
  const accounting::StepBudget budget = Budget(0.5, 1.3, 50);
  DpSgdTask foreign = Task("a");
  foreign.units[1][0] = {1, 53};
  EXPECT_THAT(Train(foreign, budget),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("vocabulary of 53")));
  options_.clip_norm = std::nan("");
  EXPECT_THAT(Train(Task("a"), budget), StatusIs(StatusCode::kInvalidArgument, HasSubstr("clip")));
  options_.clip_norm = 1;
  options_.block_tokens = 26;
  EXPECT_THAT(Train(Task("a"), budget),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 to 25")));
}

}  // namespace dp_sgd_test
}  // namespace submix::train

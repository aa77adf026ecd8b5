#include "submix/train/fine_tuning/fine_tune.h"

#include <cmath>
#include <fstream>
#include <thread>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/model/safetensors.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/models/testing/right_predictions.h"

namespace submix::train {
namespace fine_tune_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::HasSubstr;

constexpr auto kSilent = base::ProgressStyle::kSilent;

class FineTuneTest : public ::testing::Test {
 protected:
  FineTuneTest() : config_(model::TinyConfig()) {
    model::WriteTinyModel(public_directory(), config_, /*seed=*/1);
    options_.lora->rank = 2;
    options_.lora->lora_alpha = 4;
    options_.lora->target_modules = {"c_attn", "mlp.c_fc"};
    options_.batch_size = 3;
    options_.block_tokens = 9;
    options_.epochs = 2;
    options_.learning_rate.peak = 0.02;
    options_.learning_rate.warmup_fraction = 0.3;
    options_.threads = 1;
    options_.checkpoint_every = 2;
  }

  std::string public_directory() const { return directory_.File("public"); }

  // Blocks of 1 to block_tokens tokens, so that padding and dropping matter.
  MemberTask Task(const std::string& name, std::size_t num_blocks, std::uint64_t seed) const {
    MemberTask task;
    task.output_directory = directory_.File(name);
    task.seed = seed;
    for (std::size_t i = 0; i < num_blocks; ++i) {
      task.blocks.push_back(
          model::RandomTokens(1 + (seed + 3 * i) % 9, config_.vocab_size, 100 * seed + i));
    }
    return task;
  }

  std::vector<float> Weights(const std::string& name, bool lora = true) const {
    const std::string path =
        directory_.File(name) + (lora ? "/adapter_model.safetensors" : "/model.safetensors");
    auto file = model::SafetensorsFile::Open(path);
    SUBMIX_EXPECT_OK(file);
    std::vector<float> all;
    for (const auto& [tensor_name, view] : (*file)->tensors()) {
      std::vector<float> values(static_cast<std::size_t>(view.num_elements()));
      model::ConvertToFloat(view, values);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  base::Status Train(const std::vector<MemberTask>& tasks) const {
    return FineTuneMembers(public_directory(), tasks, options_, kSilent);
  }

  // The mean loss of the task's text is below this share of the public model's.
  void ExpectLearned(MemberTask task, double share) const {
    std::erase_if(task.blocks, [](const auto& block) { return block.size() < 2; });
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto losses,
                                MeanLosses(public_directory(), task.output_directory, task.blocks));
    EXPECT_LT(losses[1], share * losses[0]);
  }

  // Options that stop the training before its `steps`-th update, as a crash would.
  FineTuneOptions StoppingAfter(int steps) const {
    FineTuneOptions options = options_;
    options.should_stop = [left = steps]() mutable { return left-- == 0; };
    return options;
  }

  base::TemporaryDirectory directory_;
  model::DecoderConfig config_;
  FineTuneOptions options_;
};

TEST_F(FineTuneTest, WritesAnAdapterThatReadsBackAndFitsItsTextBetter) {
  std::int64_t updates = 0;
  options_.epochs = 30;
  options_.should_stop = [&] {
    ++updates;
    return false;
  };
  const MemberTask task = Task("a", 6, 5);
  SUBMIX_ASSERT_OK(Train({task}));
  EXPECT_EQ(updates, PlannedSteps(task, options_));
  ExpectLearned(task, 0.8);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const model::LoraAdapter adapter,
                              model::LoadLoraAdapter(task.output_directory, config_));
  EXPECT_EQ(adapter.config, *options_.lora);
  EXPECT_EQ(adapter.modules.size(), 6U);
  EXPECT_FALSE(base::FileExists(task.output_directory + ".partial"));
}

// One member's long text decides when all are done; what the short one's is through does not.
TEST_F(FineTuneTest, ProgressIsTheShareOfTheLongestQueue) {
  options_.epochs = 4;
  options_.members_at_a_time = 2;
  const std::vector<MemberTask> tasks = {Task("long", 11, 1), Task("short", 2, 2)};
  const std::int64_t steps = PlannedSteps(tasks[0], options_);
  const std::int64_t done = steps / 2;
  testing::internal::CaptureStderr();
  const base::Status stopped =
      FineTuneMembers(public_directory(), tasks, StoppingAfter(static_cast<int>(done)),
                      base::ProgressStyle::kLines);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(stopped.ok());
  EXPECT_THAT(said, testing::HasSubstr(std::to_string((200 * done + steps) / (2 * steps)) + " %"));
}

TEST_F(FineTuneTest, PredictsWhatItWasTrainedOn) {
  options_.epochs = 60;
  MemberTask task = Task("a", 0, 5);
  const std::vector<TokenId> sentence = {3, 1, 4, 1, 5, 9, 2, 6, 5};
  task.blocks = {sentence};
  SUBMIX_ASSERT_OK(Train({task}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const int right, RightPredictions(public_directory(), task.output_directory, sentence));
  EXPECT_GE(right, 7);
}

// What does not count is read all the same, and a block of which nothing counts is none.
TEST_F(FineTuneTest, LearnsWhatCountsAndReadsTheRest) {
  options_.epochs = 60;
  MemberTask task = Task("answers", 0, 1);
  const std::vector<TokenId> text = model::RandomTokens(9, config_.vocab_size, 4);
  task.blocks.push_back(text);
  for (std::size_t i = 0; i < 6; ++i) task.blocks[0][i] = corpus::Uncounted(text[i]);
  MemberTask with_silence = task;
  with_silence.output_directory = directory_.File("with_silence");
  with_silence.blocks.push_back(text);
  std::ranges::transform(text, with_silence.blocks[1].begin(), corpus::Uncounted);
  EXPECT_EQ(PlannedSteps(with_silence, options_), PlannedSteps(task, options_));
  SUBMIX_ASSERT_OK(Train({task, with_silence}));
  EXPECT_EQ(Weights("answers"), Weights("with_silence"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const int right,
                              RightPredictions(public_directory(), task.output_directory, text));
  EXPECT_GE(right, 3) << "the answer is learnt";
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const auto of_the_question,
      MeanLosses(public_directory(), task.output_directory, {{text.begin(), text.begin() + 6}}));
  EXPECT_GT(of_the_question[1], 0.8 * of_the_question[0]) << "and the question is not";
  // Another question is another training.
  MemberTask other = task;
  other.output_directory = directory_.File("other");
  other.blocks[0][0] = corpus::Uncounted((text[0] + 1) % config_.vocab_size);
  SUBMIX_ASSERT_OK(Train({other}));
  EXPECT_NE(Weights("other"), Weights("answers"));
}

TEST_F(FineTuneTest, AMemberOfWhichNothingCountsStaysAsItStarts) {
  MemberTask silent = Task("silent", 0, 1);
  silent.blocks.push_back({corpus::Uncounted(1), corpus::Uncounted(2)});
  SUBMIX_ASSERT_OK(Train({silent, Task("nothing", 0, 1)}));
  EXPECT_EQ(Weights("silent"), Weights("nothing"));
}

TEST_F(FineTuneTest, SeveralMembersAtATimeEqualOneAtATime) {
  // Members of different lengths, so that some end while others go on.
  SUBMIX_ASSERT_OK(Train({Task("a", 4, 1), Task("b", 11, 2), Task("c", 7, 3)}));
  options_.members_at_a_time = 3;
  SUBMIX_ASSERT_OK(Train({Task("ga", 4, 1), Task("gb", 11, 2), Task("gc", 7, 3)}));
  for (const std::string name : {"a", "b", "c"}) {
    const std::vector<float> alone = Weights(name);
    const std::vector<float> grouped = Weights("g" + name);
    ASSERT_EQ(alone.size(), grouped.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      // Adam divides by the gradient's own size, which carries float32's noise into the update.
      ASSERT_NEAR(alone[i], grouped[i], 2e-4) << name << " " << i;
    }
  }
}

TEST_F(FineTuneTest, AMembersBitsDoNotDependOnTheTextOfTheOthersInItsGroup) {
  options_.members_at_a_time = 3;
  SUBMIX_ASSERT_OK(Train({Task("a", 9, 1), Task("b", 11, 2), Task("c", 2, 3)}));
  SUBMIX_ASSERT_OK(Train({Task("a2", 2, 8), Task("b2", 11, 2), Task("c2", 14, 9)}));
  EXPECT_EQ(Weights("b"), Weights("b2"));
  EXPECT_NE(Weights("a"), Weights("a2"));
}

TEST_F(FineTuneTest, AMembersBitsDoNotDependOnWhenItsTurnComes) {
  // c follows a, and d follows b, as soon as they are done: beside whom, their lengths decide.
  options_.members_at_a_time = 2;
  SUBMIX_ASSERT_OK(Train({Task("a", 9, 1), Task("b", 4, 2), Task("c", 7, 3), Task("d", 5, 4)}));
  SUBMIX_ASSERT_OK(
      Train({Task("a2", 2, 8), Task("b2", 14, 9), Task("c2", 7, 3), Task("d2", 5, 4)}));
  EXPECT_EQ(Weights("c"), Weights("c2"));
  EXPECT_EQ(Weights("d"), Weights("d2"));
  EXPECT_NE(Weights("c"), Weights("d"));
}

TEST_F(FineTuneTest, IsRepeatableForASeed) {
  SUBMIX_ASSERT_OK(Train({Task("a", 7, 4)}));
  MemberTask again = Task("b", 7, 4);
  MemberTask other = again;
  other.output_directory = directory_.File("c");
  other.seed = 5;
  SUBMIX_ASSERT_OK(Train({again, other}));
  EXPECT_EQ(Weights("a"), Weights("b"));
  EXPECT_NE(Weights("a"), Weights("c"));
}

TEST_F(FineTuneTest, GoesOnAfterACrashWithTheSameBits) {
  for (const int members_at_a_time : {1, 2}) {
    for (const int steps : {1, 3, members_at_a_time == 1 ? 9 : 6}) {
      options_.members_at_a_time = members_at_a_time;
      const std::string suffix = std::to_string(members_at_a_time) + "_" + std::to_string(steps);
      SUBMIX_ASSERT_OK(Train({Task("a" + suffix, 11, 1), Task("b" + suffix, 6, 2)}));
      const std::vector<MemberTask> tasks = {Task("ra" + suffix, 11, 1), Task("rb" + suffix, 6, 2)};
      EXPECT_THAT(FineTuneMembers(public_directory(), tasks, StoppingAfter(steps), kSilent),
                  StatusIs(StatusCode::kUnavailable, HasSubstr("stopped")));
      SUBMIX_ASSERT_OK(Train(tasks));
      EXPECT_EQ(Weights("a" + suffix), Weights("ra" + suffix));
      EXPECT_EQ(Weights("b" + suffix), Weights("rb" + suffix));
    }
  }
}

TEST_F(FineTuneTest, WhatFrozenLayersSayIsKeptWithoutChangingABit) {
  options_.epochs = 3;
  for (const bool is_llama : {false, true}) {
    const std::string model =
        is_llama ? std::string(SUBMIX_TESTDATA_DIR) + "/families/tiny-llama" : public_directory();
    options_.lora->target_modules = {"all-linear"};
    options_.lora->layers = {is_llama ? 1 : 2};
    for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
      options_.precision = precision;
      const std::string suffix = PrecisionName(precision) + (is_llama ? " llama" : " gpt2");
      const auto train = [&](const std::string& name, std::int64_t most_bytes) {
        options_.frozen_states.most_bytes = most_bytes;
        const std::vector<MemberTask> tasks = {Task(name + suffix, 11, 1)};
        SUBMIX_EXPECT_OK(FineTuneMembers(model, tasks, options_, kSilent));
        return Weights(name + suffix);
      };
      const std::vector<float> kept = train("kept", FrozenStatesBounds().most_bytes);
      EXPECT_EQ(kept, train("computed", 0)) << suffix;
      EXPECT_EQ(kept, train("some", 3 * 8 * (is_llama ? 64 : 16) * 2)) << suffix;
      SUBMIX_ASSERT_OK_AND_ASSIGN(const auto files,
                                  base::ListDirectory(directory_.File("kept" + suffix)));
      EXPECT_THAT(files,
                  ::testing::ElementsAre("adapter_config.json", "adapter_model.safetensors"));
    }
  }
}

TEST_F(FineTuneTest, GoesOnAboveFrozenLayersWithTheSameBits) {
  options_.epochs = 3;
  options_.lora->layers = {1, 2};
  SUBMIX_ASSERT_OK(Train({Task("a", 11, 1)}));
  const std::vector<MemberTask> tasks = {Task("r", 11, 1)};
  EXPECT_THAT(FineTuneMembers(public_directory(), tasks, StoppingAfter(7), kSilent),
              StatusIs(StatusCode::kUnavailable, HasSubstr("stopped")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto files,
                              base::ListDirectory(tasks[0].output_directory + ".partial"));
  EXPECT_THAT(files, ::testing::ElementsAre("checkpoint.safetensors"));
  SUBMIX_ASSERT_OK(Train(tasks));
  EXPECT_EQ(Weights("a"), Weights("r"));
}

TEST_F(FineTuneTest, AMemberAThreadHasTheBitsOfOneThread) {
  const auto tasks = [&](const std::string& prefix) {
    std::vector<MemberTask> all;
    for (std::uint64_t i = 0; i < 5; ++i) {
      all.push_back(Task(prefix + std::to_string(i), 3 + 4 * i % 7, i));
    }
    return all;
  };
  for (const int members_at_a_time : {1, 2}) {
    options_.members_at_a_time = members_at_a_time;
    const std::string at_a_time = std::to_string(members_at_a_time) + " ";
    options_.threads = 1;
    SUBMIX_ASSERT_OK(Train(tasks("one " + at_a_time)));
    options_.threads = 3;
    const auto stopped = tasks("three " + at_a_time);
    EXPECT_THAT(FineTuneMembers(public_directory(), stopped, StoppingAfter(6), kSilent),
                StatusIs(StatusCode::kUnavailable, HasSubstr("stopped")));
    SUBMIX_ASSERT_OK(Train(stopped));
    for (int i = 0; i < 5; ++i) {
      const std::string name = at_a_time + std::to_string(i);
      EXPECT_EQ(Weights("three " + name), Weights("one " + name)) << name;
    }
  }
}

TEST_F(FineTuneTest, OneOfManyTasksIsTrainedAsAmongAll) {
  options_.threads = 2;
  bool has_own_thread = false;
  options_.should_stop = [&, caller = std::this_thread::get_id()] {
    has_own_thread = std::this_thread::get_id() != caller;
    return false;
  };
  const std::vector<MemberTask> alone = {Task("alone", 7, 1)};
  SUBMIX_ASSERT_OK(FineTuneMembers(public_directory(), alone, options_, kSilent));
  EXPECT_FALSE(has_own_thread);
  const std::vector<MemberTask> one = {Task("one", 7, 1)};
  SUBMIX_ASSERT_OK(FineTuneMembers(public_directory(), one, options_, kSilent, {.all_tasks = 3}));
  EXPECT_TRUE(has_own_thread);
  SUBMIX_ASSERT_OK(Train({Task("a", 7, 8), Task("all", 7, 1), Task("c", 7, 9)}));
  EXPECT_EQ(Weights("one"), Weights("all"));
}

TEST_F(FineTuneTest, WhereOneThreadFailsAllStop) {
  options_.threads = 2;
  options_.epochs = 1 << 20;
  std::ofstream(directory_.File("file")) << "no directory";
  EXPECT_THAT(Train({Task("a", 7, 1), Task("file/b", 7, 2)}),
              StatusIs(StatusCode::kNotFound, HasSubstr("file/b")));
  EXPECT_FALSE(base::FileExists(directory_.File("a")));
}

TEST_F(FineTuneTest, SkipsMembersThatAreDone) {
  const std::vector<MemberTask> tasks = {Task("a", 7, 4)};
  SUBMIX_ASSERT_OK(Train(tasks));
  options_.should_stop = [] {
    ADD_FAILURE() << "trained again";
    return true;
  };
  SUBMIX_ASSERT_OK(Train(tasks));
}

TEST_F(FineTuneTest, RefusesACheckpointOfAnotherTraining) {
  const std::vector<MemberTask> tasks = {Task("a", 11, 4)};
  EXPECT_THAT(FineTuneMembers(public_directory(), tasks, StoppingAfter(5), kSilent),
              StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  options_.learning_rate.peak *= 2;
  EXPECT_THAT(Train(tasks), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a.partial")));
}

TEST_F(FineTuneTest, TrainsAllWeightsWithoutLora) {
  options_.lora.reset();
  options_.learning_rate.peak = 0.003;
  options_.epochs = 20;
  SUBMIX_ASSERT_OK(Train({Task("full", 6, 4)}));
  ExpectLearned(Task("full", 6, 4), 0.8);
  // And goes on after a crash with the same bits.
  const std::vector<MemberTask> crashed = {Task("full2", 6, 4)};
  EXPECT_THAT(FineTuneMembers(public_directory(), crashed, StoppingAfter(7), kSilent),
              StatusIs(StatusCode::kUnavailable, HasSubstr("")));
  SUBMIX_ASSERT_OK(Train(crashed));
  EXPECT_EQ(Weights("full", false), Weights("full2", false));
}

TEST_F(FineTuneTest, TrainsInBfloat16) {
  options_.precision = Precision::kBfloat16;
  options_.epochs = 20;
  SUBMIX_ASSERT_OK(Train({Task("bf16", 6, 5)}));
  ExpectLearned(Task("bf16", 6, 5), 0.9);
}

// What no data set brings about is brought about by the public model: the embedding of its last
// token is finite, and what is computed of it is not.
TEST_F(FineTuneTest, AMemberThatIsNotFiniteIsNeverWritten) {
  {
    std::fstream file(public_directory() + "/model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    const std::vector<float> large(static_cast<std::size_t>(config_.width), 3e38f);
    const auto bytes = static_cast<std::streamoff>(large.size() * sizeof(float));
    file.seekp(-bytes, std::ios::end);
    file.write(reinterpret_cast<const char*>(large.data()), bytes);
  }
  for (const bool full : {false, true}) {
    if (full) options_.lora.reset();
    const MemberTask task = Task(full ? "full" : "adapter", 6, 5);
    EXPECT_THAT(Train({task}), StatusIs(StatusCode::kFailedPrecondition,
                                        HasSubstr("not finite; train with a lower learning rate")));
    EXPECT_FALSE(base::FileExists(task.output_directory));
  }
}

TEST_F(FineTuneTest, RefusesWhatDoesNotFitTheModel) {
  MemberTask foreign = Task("a", 3, 4);
  foreign.blocks[1] = {1, 53};
  EXPECT_THAT(Train({foreign}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("vocabulary of 53")));
  MemberTask too_long = Task("a", 3, 4);
  too_long.blocks[1] = model::RandomTokens(10, config_.vocab_size, 1);
  EXPECT_THAT(Train({too_long}), StatusIs(StatusCode::kInvalidArgument,
                                          HasSubstr("a: a block is longer than 9 tokens")));
  options_.block_tokens = 26;
  EXPECT_THAT(Train({Task("a", 3, 4)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 to 25")));
  options_.block_tokens = 9;
  options_.learning_rate.peak = std::nan("");
  EXPECT_THAT(Train({Task("a", 3, 4)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("learning_rate")));
}

}  // namespace fine_tune_test
}  // namespace submix::train

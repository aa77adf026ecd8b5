#include "submix/train/recipes/ensemble_plan.h"

#include <string>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/train/recipes/testing/byte_model.h"

namespace submix::train {
namespace ensemble_plan_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kParts = 3;

class EnsemblePlanTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SUBMIX_ASSERT_OK(WriteByteModel(File("public")));
    SUBMIX_ASSERT_OK(corpus::SavePartitionKey(base::HashKey{}, File("key")));
    std::string lines;
    for (int user = 0; user < 12; ++user) {
      lines += R"({"user": "u)" + std::to_string(user) + R"(", "text": "I am number )" +
               std::to_string(user) + ".\"}\n";
    }
    directory_.Write("corpus.jsonl", lines);
  }

  std::string File(const std::string& name) const { return directory_.File(name); }

  EnsembleTrainingOptions Options(const std::string& trainer = "") const {
    EnsembleTrainingOptions options;
    options.public_directory = File("public");
    options.corpus = File("corpus.jsonl");
    options.ensemble_directory = File("ensemble" + trainer);
    options.partition = {kParts, 1, 0};
    options.partition_key_path = File("key");
    options.fine_tune.block_tokens = 16;
    options.trainer = trainer;
    return options;
  }

  ensemble::Manifest Manifest(const std::string& trainer = "") const {
    return *ensemble::LoadManifest(File("ensemble" + trainer));
  }

  base::TemporaryDirectory directory_;
};

TEST_F(EnsemblePlanTest, IsFinishedWhenEveryMemberIsThere) {
  {
    SUBMIX_ASSERT_OK_AND_ASSIGN(EnsemblePlan plan, EnsemblePlan::Begin(Options()));
    EXPECT_FALSE(plan.is_complete());
    EXPECT_TRUE(base::FileExists(plan.public_directory() + "/config.json"));
    ASSERT_THAT(plan.tasks(), SizeIs(kParts));
    EXPECT_THAT(EnsemblePlan::Begin(Options()).status(),
                StatusIs(StatusCode::kUnavailable, testing::_));
    for (const MemberTask& task : plan.tasks()) {
      EXPECT_THAT(plan.Finish(),
                  StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not trained yet")));
      directory_.Write("weights", "trained");
      SUBMIX_ASSERT_OK(base::MakeDirectories(task.output_directory));
      SUBMIX_ASSERT_OK(base::Rename(File("weights"), task.output_directory + "/weights"));
    }
    SUBMIX_EXPECT_OK(plan.Finish());
  }
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(Manifest(), File("ensemble")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EnsemblePlan plan, EnsemblePlan::Begin(Options()));
  EXPECT_TRUE(plan.is_complete());
}

TEST_F(EnsemblePlanTest, AMemberOfAnotherTrainerIsAnother) {
  for (const char* trainer : {"", "peft"}) SUBMIX_ASSERT_OK(EnsemblePlan::Begin(Options(trainer)));
  const ensemble::Manifest ours = Manifest(), theirs = Manifest("peft");
  EXPECT_FALSE(ours.hyper_parameters.contains("trainer"));
  EXPECT_EQ(theirs.hyper_parameters.at("trainer"), "peft");
  for (int part = 0; part < kParts; ++part) {
    const auto at = static_cast<std::size_t>(part);
    EXPECT_EQ(ours.members[at].steps, theirs.members[at].steps);
    EXPECT_NE(ours.members[at].recipe_sha256, theirs.members[at].recipe_sha256);
  }
}

}  // namespace ensemble_plan_test
}  // namespace submix::train

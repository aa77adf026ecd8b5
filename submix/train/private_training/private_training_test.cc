#include "submix/train/private_training/private_training.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/training_cost.h"
#include "submix/train/fine_tuning/ensemble_training.h"
#include "submix/train/fine_tuning/forgetting.h"
#include "submix/train/models/torch_predictor.h"
#include "submix/train/recipes/testing/byte_model.h"

namespace submix::train {
namespace private_training_test {

using accounting::PrivacyUnit;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

constexpr auto kSilent = base::ProgressStyle::kSilent;
constexpr int kUsers = 10;

class PrivateTrainingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SUBMIX_ASSERT_OK(WriteByteModel(File("public")));
    SUBMIX_ASSERT_OK(corpus::SavePartitionKey(base::HashKey{}, File("key")));
    std::ofstream stream(File("corpus.jsonl"));
    for (int user = 0; user < kUsers; ++user) {
      for (int text = 0; text < 3; ++text) {
        stream << R"({"user": "user )" << user << R"(", "text": "I say )" << user * 7 + text
               << "\"}\n";
      }
    }
  }

  std::string File(const std::string& name) const { return directory_.File(name); }

  PrivateTrainingOptions Options(const std::string& ensemble) const {
    PrivateTrainingOptions options;
    options.public_directory = File("public");
    options.corpus = File("corpus.jsonl");
    options.ensemble_directory = File(ensemble);
    options.partition_key_path = File("key");
    options.heldout_fraction = 0;
    options.noise_multiplier = 1;
    options.target = {20, 1e-5};
    options.epochs = 1.5;
    options.training.lora->rank = 2;
    options.training.block_tokens = 16;
    options.training.expected_batch = 4;
    options.training.clip_norm = 0.5;
    options.training.learning_rate.peak = 0.05;
    options.training.threads = 1;
    options.training.checkpoint_seconds = 0;
    return options;
  }

  static base::StatusOr<PrivateTrainingReport> Train(const PrivateTrainingOptions& options) {
    const auto random = base::MakeSeededRandomSource(1);
    return TrainPrivately(options, *random, kSilent);
  }

  // Logits of public model and member on one sequence.
  std::vector<std::vector<float>> Logits(const std::string& public_directory,
                                         const std::string& member) const {
    TorchPredictorOptions options;
    options.threads = 1;
    options.public_directory = public_directory;
    options.member_directories = {member};
    const auto predictor = TorchPredictor::Load(options);
    SUBMIX_EXPECT_OK(predictor);
    const std::vector<base::TokenId> sequence = {256, 73, 32, 115, 97, 121};
    std::vector<std::vector<float>> rows(2);
    SUBMIX_EXPECT_OK(
        (*predictor)->Score(sequence, 1, [&](std::size_t, std::span<const float> logits) {
          for (std::size_t row = 0; row < 2; ++row) {
            const auto of_model = logits.subspan(row * 257, 257);
            rows[row].insert(rows[row].end(), of_model.begin(), of_model.end());
          }
          return base::OkStatus();
        }));
    return rows;
  }
  static void ExpectNear(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4) << i;
  }

  base::TemporaryDirectory directory_;
};

TEST_F(PrivateTrainingTest, MakesAnEnsembleThatVerifiesAndSaysWhatItCost) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport report, Train(Options("e")));
  EXPECT_EQ(report.sampling_probability, 0.4);
  EXPECT_EQ(report.public_units, kUsers);
  EXPECT_TRUE(report.units_were_counted);
  EXPECT_EQ(report.steps_wanted, 4);  // 1.5 passes of 0.4 a step
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.steps_charged, 4);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const accounting::StepBudget budget,
                              accounting::StepBudget::Plan({0.4, 1}, {20, 1e-5}));
  EXPECT_DOUBLE_EQ(report.epsilon, budget.EpsilonAfter(4).epsilon);
  EXPECT_THAT(report.statement.Labels(), HasSubstr("unit: user key; adjacency: present or absent"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(File("e")));
  SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, File("e")));
  EXPECT_EQ(manifest.hyper_parameters.at("private"), "dp-sgd");
  EXPECT_EQ(manifest.hyper_parameters.at("steps_charged"), "4");
  EXPECT_TRUE(base::FileExists(File("e/users")));
  // Whoever guesses a text must not be able to confirm it.
  EXPECT_EQ(manifest.members[0].recipe_sha256, "");
  // Run again, it says the same and spends nothing.
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport again, Train(Options("e")));
  EXPECT_EQ(again.steps_charged, 4);
  EXPECT_EQ(again.epsilon, report.epsilon);
}

TEST_F(PrivateTrainingTest, TheReleasedModelIsTheMemberMerged) {
  for (const bool full : {false, true}) {
    PrivateTrainingOptions options = Options(full ? "full" : "lora");
    if (full) options.training.lora.reset();
    SUBMIX_ASSERT_OK(Train(options));
    const std::string released = options.ensemble_directory + "/released";
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto manifest, ensemble::LoadManifest(released));
    SUBMIX_EXPECT_OK(ensemble::VerifyFiles(manifest, released));
    const auto trained = Logits(File("public"), options.ensemble_directory + "/members/00");
    const auto merged = Logits(released + "/public", released + "/members/00");
    ExpectNear(merged[0], trained[1]);
    ExpectNear(merged[1], trained[1]);
    EXPECT_NE(trained[0], trained[1]);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost,
                                base::JsonObject::Load(released + "/public/private_training.json"));
    EXPECT_EQ(*cost.Text("mechanism"), "dp-sgd");
    EXPECT_EQ(*cost.Text("unit"), "user");
    EXPECT_EQ(*cost.Integer("steps", 0, 100), 4);
    EXPECT_EQ(*cost.Number("sampling_probability"), 0.4);
    // Nothing of the private side lies beside what may leave.
    EXPECT_FALSE(base::FileExists(released + "/partition.key"));
    EXPECT_FALSE(base::FileExists(released + "/users"));
    EXPECT_FALSE(base::FileExists(released + "/training"));
  }
}

TEST_F(PrivateTrainingTest, DocumentsAreUnitsOfTheirOwn) {
  PrivateTrainingOptions options = Options("e");
  options.unit = PrivacyUnit::kTrainingExample;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport report, Train(options));
  EXPECT_EQ(report.public_units, 3 * kUsers);
  EXPECT_THAT(report.statement.Labels(), HasSubstr("unit: training example"));
}

TEST_F(PrivateTrainingTest, APublicNumberOfUsersStandsInForTheirCount) {
  PrivateTrainingOptions options = Options("e");
  options.public_units = 40;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport report, Train(options));
  EXPECT_EQ(report.sampling_probability, 0.1);
  EXPECT_FALSE(report.units_were_counted);
  EXPECT_EQ(report.steps_wanted, 15);
  options = Options("f");
  options.training.expected_batch = kUsers + 1;
  EXPECT_THAT(Train(options), StatusIs(StatusCode::kInvalidArgument, HasSubstr("expected batch")));
}

TEST_F(PrivateTrainingTest, OptionsOutOfRangeAreRefusedBeforeAnythingIsWrittenOrCharged) {
  const auto refused = [&](const char* name, const PrivateTrainingOptions& options) {
    EXPECT_THAT(Train(options), StatusIs(StatusCode::kInvalidArgument, HasSubstr(name)));
  };
  PrivateTrainingOptions options = Options("e");
  options.training.lora->lora_alpha = std::nan("");
  refused("lora_alpha", options);
  options = Options("e");
  options.training.block_tokens = 1;
  refused("block_tokens", options);
  EXPECT_FALSE(base::FileExists(File("e")));
  options = Options("e");
  options.training.clip_norm = 1e300;
  refused("clip", options);
  SUBMIX_EXPECT_OK(Train(Options("e")));
}

TEST_F(PrivateTrainingTest, GoesOnAfterAnInterruptionAndKeepsWhatWasSpent) {
  PrivateTrainingOptions options = Options("e");
  options.training.should_stop = [left = 2]() mutable { return left-- == 0; };
  EXPECT_THAT(Train(options), StatusIs(StatusCode::kUnavailable, _));
  PrivateTrainingOptions other = Options("e");
  other.target.epsilon = 40;
  EXPECT_THAT(Train(other), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("other options")));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport report, Train(Options("e")));
  EXPECT_EQ(report.steps, 4);
  EXPECT_EQ(report.steps_charged, 4);
  // A crash after the member had its place, before the manifest knew.
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(File("e")));
  manifest.members[0].complete = false;
  manifest.file_sha256.clear();
  SUBMIX_ASSERT_OK(ensemble::SaveManifest(manifest, File("e")));
  std::filesystem::remove_all(File("e/released"));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PrivateTrainingReport closed, Train(Options("e")));
  EXPECT_EQ(closed.steps, 4);
  EXPECT_EQ(closed.steps_charged, 4);
  SUBMIX_EXPECT_OK(ensemble::LoadManifest(File("e/released")));
}

TEST_F(PrivateTrainingTest, AnEnsembleAboveItKnowsWhatItsPublicModelCost) {
  SUBMIX_ASSERT_OK(Train(Options("e")));
  EnsembleTrainingOptions above;
  above.public_directory = File("e/released/public");
  above.corpus = File("corpus.jsonl");
  above.ensemble_directory = File("above");
  above.partition = {2, 1, 0};
  above.fine_tune.block_tokens = 16;
  above.fine_tune.threads = 1;
  SUBMIX_ASSERT_OK(TrainEnsemble(above, kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, ensemble::LoadTrainingCost(File("above/public")));
  ASSERT_TRUE(cost.has_value());
  EXPECT_TRUE(cost->unit_is_user);
  EXPECT_EQ(cost->steps, 4);
  EXPECT_EQ(cost->noise_multiplier, 1);
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto manifest, ensemble::LoadManifest(File("above")));
  EXPECT_FALSE(manifest.hyper_parameters.contains("public_trained_on"));
  above.ensemble_directory = File("other");
  above.public_trained_on_others = true;
  SUBMIX_ASSERT_OK(TrainEnsemble(above, kSilent));
  SUBMIX_ASSERT_OK_AND_ASSIGN(manifest, ensemble::LoadManifest(File("other")));
  EXPECT_EQ(manifest.hyper_parameters.at("public_trained_on"), "other-users");
  above.ensemble_directory = File("public above");
  above.public_directory = File("public");
  EXPECT_THAT(TrainEnsemble(above, kSilent),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not trained privately")));
  PrivateTrainingOptions again = Options("again");
  again.public_directory = File("e/released/public");
  EXPECT_THAT(Train(again), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("itself trained")));
}

TEST_F(PrivateTrainingTest, OtherTrainingsAndForgettingLeaveItAlone) {
  SUBMIX_ASSERT_OK(Train(Options("e")));
  EnsembleTrainingOptions plain;
  plain.public_directory = File("public");
  plain.corpus = File("corpus.jsonl");
  plain.ensemble_directory = File("e");
  plain.partition = {1, 1, 0};
  plain.fine_tune.block_tokens = 16;
  EXPECT_THAT(TrainEnsemble(plain, kSilent), StatusIs(StatusCode::kFailedPrecondition, _));
  EXPECT_THAT(ForgetUser(File("e"), File("corpus.jsonl"), "user 4", kSilent),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("differential privacy")));
}

}  // namespace private_training_test
}  // namespace submix::train

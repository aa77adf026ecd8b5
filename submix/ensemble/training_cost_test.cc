#include "submix/ensemble/training_cost.h"

#include <cmath>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::ensemble {
namespace training_cost_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

constexpr const char* kText =
    R"({"format": 1, "mechanism": "dp-sgd", "unit": "user", "sampling_probability": 0.25,
        "noise_multiplier": 1.5, "steps": 40, "delta": 1e-5, "epsilon": 3})";

class TrainingCostTest : public testing::Test {
 protected:
  void Write(std::string text, const std::string& from = "", const std::string& to = "") const {
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    SUBMIX_EXPECT_OK(base::WriteFile(directory_.File("private_training.json"), text));
  }

  base::TemporaryDirectory directory_;
};

TEST_F(TrainingCostTest, ReadsWhatATrainingCostAndNothingWhereThereWasNone) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto none, LoadTrainingCost(directory_.path()));
  EXPECT_FALSE(none.has_value());
  Write(kText);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, LoadTrainingCost(directory_.path()));
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->mechanism, "dp-sgd");
  EXPECT_TRUE(cost->unit_is_user);
  EXPECT_EQ(cost->sampling_probability, 0.25);
  EXPECT_EQ(cost->noise_multiplier, 1.5);
  EXPECT_EQ(cost->steps, 40);
  EXPECT_FALSE(cost->empty_is_absent);
  Write(kText, "user", "document");
  EXPECT_FALSE((*LoadTrainingCost(directory_.path()))->unit_is_user);
}

TEST_F(TrainingCostTest, ReadsWhatItWrote) {
  const TrainingCost written = {"dp-fedavg", true, 0.1, 0.7, 12};
  Write(TrainingCostJson(written, 3.25, 1e-6));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, LoadTrainingCost(directory_.path()));
  ASSERT_TRUE(cost.has_value());
  EXPECT_EQ(cost->mechanism, "dp-fedavg");
  EXPECT_TRUE(cost->unit_is_user);
  EXPECT_EQ(cost->sampling_probability, 0.1);
  EXPECT_EQ(cost->noise_multiplier, 0.7);
  EXPECT_EQ(cost->steps, 12);
  EXPECT_TRUE(cost->empty_is_absent);
}

TEST_F(TrainingCostTest, WritesAnyName) {
  TrainingCost written{"\"" + std::string(1'000, 'x'), true, 0.1, 1, 12};
  Write(TrainingCostJson(written, 3.25, 1e-6));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto cost, LoadTrainingCost(directory_.path()));
  EXPECT_EQ(cost->mechanism, written.mechanism);
}

TEST_F(TrainingCostTest, AModelTrainedWithoutNoiseIsNobodysPublicModel) {
  Write(TrainingCostJson({"fedavg", true, 0.1, 0, 12}, INFINITY, 1e-6));
  EXPECT_THAT(LoadTrainingCost(directory_.path()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("without noise")));
}

TEST_F(TrainingCostTest, RefusesWhatWouldMakeACostLookSmaller) {
  const auto refused = [&](const std::string& from, const std::string& to, const char* word) {
    Write(kText, from, to);
    EXPECT_THAT(LoadTrainingCost(directory_.path()),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(word)));
  };
  refused("\"user\"", "\"planet\"", "unit");
  refused("0.25", "-0.25", "sampling_probability");
  refused("0.25", "1.25", "sampling_probability");
  refused("1.5", "-1", "noise_multiplier");
  refused("40", "-1", "steps");
  refused("\"steps\": 40,", "", "steps");
  Write(kText, "\"format\": 1", "\"format\": 2");
  EXPECT_THAT(LoadTrainingCost(directory_.path()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("newer")));
}

}  // namespace training_cost_test
}  // namespace submix::ensemble

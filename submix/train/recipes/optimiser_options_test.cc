#include "submix/train/recipes/optimiser_options.h"

#include <gtest/gtest.h>

namespace submix::train {
namespace optimiser_options_test {

TEST(LearningRateTest, WarmsUpLinearlyOverAllStepsByDefault) {
  const LearningRateSchedule schedule;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 0, 10), 1e-5);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 4, 10), 5e-5);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 9, 10), 1e-4);
}

TEST(LearningRateTest, DecaysAfterTheWarmUp) {
  LearningRateSchedule schedule;
  schedule.peak = 1;
  schedule.warmup_steps = 10;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 99, 110), 1);
  schedule.decay = Decay::kLinear;
  schedule.final_fraction = 0.1;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 9, 110), 1);
  EXPECT_NEAR(LearningRate(schedule, 59, 110), 0.55, 1e-12);
  EXPECT_NEAR(LearningRate(schedule, 109, 110), 0.1, 1e-12);
  schedule.decay = Decay::kCosine;
  EXPECT_NEAR(LearningRate(schedule, 59, 110), 0.55, 1e-12);
  EXPECT_NEAR(LearningRate(schedule, 109, 110), 0.1, 1e-12);
}

TEST(LearningRateTest, NoWarmUpStartsAtThePeak) {
  LearningRateSchedule schedule;
  schedule.warmup_fraction = 0;
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 0, 3), 1e-4);
}

}  // namespace optimiser_options_test
}  // namespace submix::train

#include "submix/train/recipes/training_order.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace submix::train {
namespace training_order_test {

std::vector<std::size_t> Epoch(TrainingOrder& order, std::int64_t epoch) {
  std::vector<std::size_t> seen;
  for (std::int64_t i = 0; i < order.steps_per_epoch(); ++i) {
    const auto batch = order.Batch(epoch * order.steps_per_epoch() + i);
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  return seen;
}

TEST(TrainingOrderTest, SeesEveryBlockOnceAnEpochInAFreshOrder) {
  TrainingOrder order(10, 4, 1);
  EXPECT_EQ(order.steps_per_epoch(), 3);
  EXPECT_EQ(order.Batch(2).size(), 2U);
  std::vector<std::size_t> first = Epoch(order, 0);
  std::vector<std::size_t> second = Epoch(order, 1);
  EXPECT_NE(first, second);
  std::ranges::sort(first);
  std::ranges::sort(second);
  const std::vector<std::size_t> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(first, all);
  EXPECT_EQ(second, all);
}

TEST(TrainingOrderTest, IsAFunctionOfSeedAndStep) {
  TrainingOrder order(50, 8, 7);
  const std::vector<std::size_t> third = Epoch(order, 3);
  TrainingOrder again(50, 8, 7);
  EXPECT_EQ(Epoch(again, 3), third);
  TrainingOrder other(50, 8, 8);
  EXPECT_NE(Epoch(other, 3), third);
}

TEST(TrainingOrderTest, NoBlocksMeanNoSteps) {
  EXPECT_EQ(TrainingOrder(0, 8, 7).steps_per_epoch(), 0);
}

}  // namespace training_order_test
}  // namespace submix::train

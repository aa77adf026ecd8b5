#include "submix/base/status.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "submix/base/testing/status_matchers.h"

namespace submix::base {
namespace status_test {

StatusOr<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgumentError("odd");
  return value / 2;
}

StatusOr<int> Quarter(int value) {
  SUBMIX_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(StatusTest, PassesErrorsUpAndValuesThrough) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_THAT(Quarter(6), StatusIs(StatusCode::kInvalidArgument, "odd"));
  EXPECT_EQ(Quarter(6).status().ToString(), "invalid argument: odd");
}

TEST(StatusTest, HoldsMoveOnlyValues) {
  StatusOr<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 7);
}

TEST(StatusDeathTest, ReadingTheValueOfAnErrorEndsTheProcess) {
  EXPECT_DEATH((void)Half(3).value(), "value of an error");
}

// The whole privacy tower relies on NaN being seen; a fast-math build would not see it.
TEST(StatusTest, ThisBuildStillSeesNan) {
  volatile double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(nan));
  EXPECT_TRUE(!(nan >= 0));
}

TEST(StatusOrTest, NoValueIsAValueToo) {
  const auto none = []() -> StatusOr<std::optional<int>> { return std::nullopt; };
  const auto some = []() -> StatusOr<std::optional<int>> { return 7; };
  ASSERT_TRUE(none().ok());
  EXPECT_EQ(*none(), std::nullopt);
  EXPECT_EQ(*some(), 7);
}

}  // namespace status_test
}  // namespace submix::base

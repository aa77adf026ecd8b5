// GoogleTest matchers for Status and StatusOr.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/status.h"

namespace submix::base {

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
const Status& StatusOf(const StatusOr<T>& result) {
  return result.status();
}

// Matches a Status or StatusOr that is ok.
MATCHER(IsOk, "is ok") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// Matches a Status or StatusOr with this code whose message matches `message`.
MATCHER_P2(StatusIs, code, message, "is an error with a code and a message") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, StatusOf(arg).message(), result_listener);
}

}  // namespace submix::base

#define SUBMIX_ASSERT_OK(expression) ASSERT_THAT(expression, ::submix::base::IsOk())
#define SUBMIX_EXPECT_OK(expression) EXPECT_THAT(expression, ::submix::base::IsOk())

// `SUBMIX_ASSERT_OK_AND_ASSIGN(auto x, MakeX());` in a test that returns void.
#define SUBMIX_ASSERT_OK_AND_ASSIGN(declaration, expression) \
  SUBMIX_ASSERT_OK_AND_ASSIGN_IMPL_(SUBMIX_CONCAT_(submix_or_, __LINE__), declaration, expression)
#define SUBMIX_ASSERT_OK_AND_ASSIGN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                              \
  ASSERT_TRUE(result.ok()) << result.status();                             \
  declaration = std::move(result).value()

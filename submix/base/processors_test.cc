#include "submix/base/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace submix::base {
namespace processors_test {

TEST(ProcessorsTest, CountsThoseThatTheProcessMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(AvailableProcessors(), CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(AvailableProcessors(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace processors_test
}  // namespace submix::base

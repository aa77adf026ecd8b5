#include "submix/base/memory_limit.h"

#include <gtest/gtest.h>

#include "submix/base/testing/temporary_directory.h"

namespace submix::base {
namespace memory_limit_test {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    directory_.Write(path, text);
  }
  std::size_t Limit() const { return MemoryLimit(directory_.path()); }

  const TemporaryDirectory directory_;
};

TEST_F(MemoryLimitTest, IsTheMachinesWhereNoGroupSaysLess) {
  const std::size_t machine = Limit();
  EXPECT_GT(machine, std::size_t{64} << 20);
  EXPECT_LE(MemoryLimit(), machine);
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "max\n");
  EXPECT_EQ(Limit(), machine);
  Write("sys/fs/cgroup/a/b/memory.max", "9223372036854771712\n");
  EXPECT_EQ(Limit(), machine);
}

TEST_F(MemoryLimitTest, IsTheLeastOfAGroupAndThoseAboveIt) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/b/memory.max", "5000000\n");
  EXPECT_EQ(Limit(), 5'000'000u);
  Write("sys/fs/cgroup/a/memory.max", "4000000\n");
  EXPECT_EQ(Limit(), 4'000'000u);
  Write("proc/self/cgroup", "0::/not/mounted/here\n");
  Write("sys/fs/cgroup/memory.max", "3000000\n");
  EXPECT_EQ(Limit(), 3'000'000u);
  Write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(Limit(), 3'000'000u);
}

TEST_F(MemoryLimitTest, KnowsTheFirstVersionOfControlGroups) {
  Write("proc/self/cgroup", "7:cpu,cpuacct:/x\n4:memory:/x/y\n");
  Write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "2000000\n");
  EXPECT_EQ(Limit(), 2'000'000u);
}

}  // namespace memory_limit_test
}  // namespace submix::base

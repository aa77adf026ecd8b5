#include "submix/train/models/frozen_states.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "submix/base/testing/temporary_directory.h"

namespace submix::train {
namespace frozen_states_test {

constexpr std::size_t kStateBytes = 1000;

std::vector<std::byte> State(int seed, std::size_t size = kStateBytes) {
  std::vector<std::byte> state(size);
  for (std::size_t i = 0; i < size; ++i) state[i] = static_cast<std::byte>(seed + 7 * i);
  return state;
}

// Of blocks 0, 1, ... as State has them.
std::vector<bool> Kept(const FrozenStates& states, std::size_t blocks) {
  std::vector<bool> kept;
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<std::byte> state(kStateBytes);
    kept.push_back(states.Read(block, state));
    EXPECT_TRUE(!kept.back() || state == State(static_cast<int>(block))) << block;
  }
  return kept;
}

std::vector<bool> KeptOfThree(const std::string& directory, const FrozenStatesBounds& bounds) {
  FrozenStates states(directory, 3, kStateBytes, bounds);
  for (const int block : {2, 0, 1}) states.Keep(static_cast<std::size_t>(block), State(block));
  return Kept(states, 3);
}

TEST(FrozenStatesTest, GiveBackWhatWasKept) {
  const base::TemporaryDirectory directory;
  FrozenStates states(directory.path(), 3, kStateBytes);
  EXPECT_EQ(Kept(states, 3), std::vector<bool>({false, false, false}));
  states.Keep(2, State(2));
  states.Keep(1, State(9, 10));  // shorter
  EXPECT_EQ(Kept(states, 3), std::vector<bool>({false, false, true}));
  std::vector<std::byte> shorter(10);
  EXPECT_TRUE(states.Read(1, shorter));
  EXPECT_EQ(shorter, State(9, 10));
}

TEST(FrozenStatesTest, WithinTheirBounds) {
  const base::TemporaryDirectory directory;
  EXPECT_EQ(KeptOfThree(directory.path(), {}), std::vector<bool>({true, true, true}));
  EXPECT_EQ(KeptOfThree(directory.path(), {.most_bytes = 2 * kStateBytes + 999}),
            std::vector<bool>({true, true, false}));
  EXPECT_EQ(KeptOfThree(directory.path(), {.most_bytes = 0}),
            std::vector<bool>({false, false, false}));
  EXPECT_EQ(KeptOfThree(directory.path(), {.least_free_bytes = std::int64_t{1} << 62}),
            std::vector<bool>({false, false, false}));
}

TEST(FrozenStatesTest, WhatCannotBeWrittenIsNotKept) {
  const base::TemporaryDirectory directory;
  EXPECT_EQ(KeptOfThree(directory.File("absent"), {}), std::vector<bool>({false, false, false}));
  // A disk on which there is place for one and a half.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit = before;
  limit.rlim_cur = kStateBytes * 3 / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(KeptOfThree(directory.path(), {}), std::vector<bool>({true, false, false}));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
}

TEST(FrozenStatesTest, LieInAFileThatNobodyElseCanOpen) {
  const base::TemporaryDirectory directory;
  FrozenStates states(directory.path(), 3, kStateBytes);
  states.Keep(0, State(0));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored);
    if (!target.starts_with(directory.path())) continue;
    struct stat info {};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(info.st_nlink, 0U);
    ++files;
  }
  EXPECT_EQ(files, 1);
}

}  // namespace frozen_states_test
}  // namespace submix::train

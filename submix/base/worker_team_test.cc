#include "submix/base/worker_team.h"

#include <chrono>
#include <ctime>
#include <thread>

#include <gmock/gmock.h>

namespace submix::base {
namespace worker_team_test {

TEST(WorkerTeamTest, EveryWorkerRunsOnce) {
  for (const int size : {1, 2, 5}) {
    WorkerTeam team(size);
    std::vector<int> runs(static_cast<std::size_t>(size), 0);
    for (int i = 0; i < 100; ++i) {
      team.Run([&](int worker) { ++runs[static_cast<std::size_t>(worker)]; });
    }
    EXPECT_THAT(runs, ::testing::Each(100));
  }
}

TEST(WorkerTeamTest, BarrierShowsWhatOthersWrote) {
  WorkerTeam team(3);
  std::vector<int> values(3, 0), sums(3, 0);
  team.Run([&](int worker) {
    const auto me = static_cast<std::size_t>(worker);
    for (int round = 1; round <= 200; ++round) {
      values[me] = round * (worker + 1);
      team.Barrier();
      sums[me] += values[0] + values[1] + values[2];
      team.Barrier();
    }
  });
  EXPECT_THAT(sums, ::testing::Each(6 * 200 * 201 / 2));
}

TEST(WorkerTeamTest, SharesCoverEverythingOnce) {
  WorkerTeam team(4);
  for (const int count : {0, 1, 3, 4, 17, 50257}) {
    int next = 0;
    for (int worker = 0; worker < 4; ++worker) {
      const WorkerTeam::Share share = team.ShareOf(count, worker);
      EXPECT_EQ(share.begin, next);
      next = share.end;
    }
    EXPECT_EQ(next, count);
  }
}

// Processor time of the whole process, all threads.
double ProcessSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(WorkerTeamTest, AnIdleTeamSleeps) {
  WorkerTeam team(4);
  team.Run([](int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = ProcessSeconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  // Three spinning workers would take 0.9 s.
  EXPECT_LT(ProcessSeconds() - before, 0.05);
}

}  // namespace worker_team_test
}  // namespace submix::base

#include "submix/server/open_files.h"

#include <algorithm>
#include <cstdlib>

#include <sys/resource.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::server {
namespace open_files_test {

using base::StatusCode;

// A process that may open so many files, and no more; what it was allowed before comes back.
class Allowed {
 public:
  explicit Allowed(rlim_t files, rlim_t at_most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit limit{files, std::min(at_most, before_.rlim_max)};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  static rlim_t now() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
  }

 private:
  rlimit before_{};
};

// In a process of its own: a limit that was lowered for good cannot be raised again.
int Outcome(rlim_t files, rlim_t at_most, int wanted) {
  const Allowed allowed(files, at_most);
  int connections = wanted;
  const auto said = FitConnections(connections);
  if (!said.ok()) return said.status().code() == StatusCode::kResourceExhausted ? 200 : 201;
  if (said->empty()) return connections == wanted && allowed.now() >= files ? 100 : 101;
  return connections;
}

TEST(OpenFilesDeathTest, ALimitIsRaisedAsFarAsTheSystemAllows) {
  EXPECT_EXIT(std::_Exit(Outcome(300, 2000, 1000)), ::testing::ExitedWithCode(100), "");
}

TEST(OpenFilesDeathTest, FewerConnectionsAreTakenWhereTheSystemAllowsNoMore) {
  EXPECT_EXIT(std::_Exit(Outcome(300, 300, 1000)), ::testing::ExitedWithCode(44), "");
}

TEST(OpenFilesDeathTest, HardlyAnyIsAnError) {
  EXPECT_EXIT(std::_Exit(Outcome(260, 260, 1000)), ::testing::ExitedWithCode(200), "");
}

}  // namespace open_files_test
}  // namespace submix::server

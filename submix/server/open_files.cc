#include "submix/server/open_files.h"

#include <algorithm>

#include <sys/resource.h>

namespace submix::server {

base::StatusOr<std::string> FitConnections(int& connections) {
  constexpr rlim_t kOthers = 256;
  constexpr rlim_t kFewest = 16;
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOthers;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return std::string();
  const rlimit more{std::min(wanted, files.rlim_max), files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) files = more;
  if (files.rlim_cur >= wanted) return std::string();
  const std::string limit = "this process may open " + std::to_string(files.rlim_cur) + " files";
  constexpr char kMend[] = ": raise its limit (`ulimit -n`, LimitNOFILE)";
  if (files.rlim_cur < kOthers + kFewest) {
    return base::ResourceExhaustedError(limit + ", the server needs at least " +
                                        std::to_string(kOthers + kFewest) + kMend);
  }
  connections = static_cast<int>(files.rlim_cur - kOthers);
  return limit + ", so it takes fewer than server.connections" + kMend;
}

}  // namespace submix::server

// `submix cache`: what can be made again, and takes room meanwhile.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/base/cache_directory.h"

namespace submix::apps {
namespace {

struct CacheOptions {
  bool empty = false;
  bool json = false;
};

double Mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

base::Status RunCache(const CacheOptions& options) {
  const std::string directory = base::DefaultCacheDirectory();
  if (directory.empty()) {
    return base::FailedPreconditionError("there is no cache without HOME or XDG_CACHE_HOME");
  }
  if (options.empty) SUBMIX_RETURN_IF_ERROR(base::EmptyCache(directory));
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<base::CachedFile> files, base::CachedFiles(directory));
  std::int64_t bytes = 0;
  for (const base::CachedFile& file : files) bytes += file.bytes;
  const base::CacheBounds bounds;
  if (options.json) {
    nlohmann::ordered_json object = {{"directory", directory},
                                     {"bytes", bytes},
                                     {"most_bytes", bounds.bytes},
                                     {"files", nlohmann::ordered_json::array()}};
    for (const base::CachedFile& file : files) {
      object["files"].push_back({{"name", file.name}, {"bytes", file.bytes}});
    }
    std::printf("%s\n", object.dump().c_str());
    return base::OkStatus();
  }
  for (const base::CachedFile& file : files) {
    std::printf("%10.1f MiB  %s\n", Mebibytes(file.bytes), file.name.c_str());
  }
  std::printf("%10.1f MiB of at most %.0f in %s\n", Mebibytes(bytes), Mebibytes(bounds.bytes),
              directory.c_str());
  return base::OkStatus();
}

}  // namespace

void AddCacheCommand(CLI::App& command, Action& action) {
  CacheOptions& options = SetAction<CacheOptions>(command, action, RunCache);
  Flags flags(command);
  flags.Add("--empty", options.empty, "Delete all of it; running servers keep what they use");
  flags.Add("--json", options.json, "One JSON object");
  command.footer(
      "Packed weights of models (.packed), digests of files (.digest) and what `submix plan\n"
      "--minutes` has measured (.times). Nothing of users. What was used longest ago goes first.\n"
      "Example: submix cache --empty");
}

}  // namespace submix::apps

#include "submix/ensemble/batches.h"

#include <algorithm>
#include <string_view>

#include "submix/base/check.h"
#include "submix/base/file_system.h"

namespace submix::ensemble {

using base::StatusOr;

std::string BatchDirectory(const std::string& directory, int batch, int batches) {
  SUBMIX_CHECK(batch >= 0 && batch < batches, "a batch of them");
  return base::JoinPath(directory,
                        "batch-" + std::to_string(batch + 1) + "-of-" + std::to_string(batches));
}

StatusOr<std::vector<std::string>> BatchesIn(const std::string& directory) {
  std::vector<std::string> found;
  if (const auto names = base::ListDirectory(directory); names.ok()) {
    for (const std::string& name : *names) {
      if (name.starts_with("batch-") && name.find("-of-") != std::string::npos) {
        found.push_back(base::JoinPath(directory, name));
      }
    }
  }
  std::vector<std::string> batches;
  for (int batch = 0; batch < static_cast<int>(found.size()); ++batch) {
    batches.push_back(BatchDirectory(directory, batch, static_cast<int>(found.size())));
    if (std::ranges::find(found, batches.back()) != found.end()) continue;
    return base::DataLossError(directory + ": holds " + std::to_string(found.size()) +
                               " directories of batches, and " + batches.back() +
                               " is not among them; bring back what is missing");
  }
  return batches;
}

std::string BatchesHint(const std::string& directory) {
  const auto batches = BatchesIn(directory);
  if (!batches.ok() || batches->empty()) return "";
  return "; it holds batches, each with a directory of its own: " + batches->front() + ", ...";
}

}  // namespace submix::ensemble

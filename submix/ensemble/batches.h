// Disjoint batches of parts (docs/privacy.md, Documents from batches): a directory of ensembles, or
// of their deployments, "batch-1-of-8" … "batch-8-of-8", each complete by itself. A user's text is
// in one of them.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"

namespace submix::ensemble {

// The directory of a batch. Requires: 0 <= batch < batches.
std::string BatchDirectory(const std::string& directory, int batch, int batches);

// The batches of a directory in their order; none: it holds no batches. Errors: kDataLoss if one is
// missing, or there are those of two numbers of batches.
base::StatusOr<std::vector<std::string>> BatchesIn(const std::string& directory);

// What a command that wants one of them adds to its error: "; it holds batches, such as …"; empty
// if the directory holds none.
std::string BatchesHint(const std::string& directory);

}  // namespace submix::ensemble

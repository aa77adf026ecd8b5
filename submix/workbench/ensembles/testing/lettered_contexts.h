// A corpus of users "a" to `last`, one record each, and an ensemble of it that may be asked for.
#pragma once

#include <string>

#include "submix/base/testing/temporary_directory.h"
#include "submix/workbench/ensembles/made_contexts.h"

namespace submix::workbench {

// Writes text.jsonl into the directory. The ensemble would lie beside it: two parts over the
// bundled public model.
inline ContextsRequest LetteredContexts(const base::TemporaryDirectory& directory, char last) {
  std::string lines;
  for (char user = 'a'; user <= last; ++user) {
    lines += std::string(R"({"user": ")") + user + R"(", "text": "A word of )" + user + "\"}\n";
  }
  directory.Write("text.jsonl", lines);
  ContextsRequest request;
  request.corpus.path = directory.File("text.jsonl");
  request.ensemble = directory.File("ensemble");
  request.public_directory = std::string(SUBMIX_DATA_DIR) + "/public_model";
  request.partition.num_parts = 2;
  request.contexts.tokens = 32;
  return request;
}

}  // namespace submix::workbench

// The finished runs of an evaluation, kept in a file, so that an interrupted one goes on after
// them. A file is believed only if it is whole and its runs come from the same models, text and
// options.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "submix/base/digest.h"
#include "submix/base/status.h"

namespace submix::eval {

struct FinishedRun {
  int group = 0;               // the settings that were scored together
  std::vector<double> values;  // kept bit for bit

  bool operator==(const FinishedRun&) const = default;
};

// One of the things that a run's values depend on.
struct RunSource {
  std::string name;  // such as "models"; public, one line
  base::Sha256Digest digest{};
};

// One thread at a time, and one process a file.
class FinishedRuns {
 public:
  // Reads the file or, if there is none, writes one without runs, so that a place that cannot be
  // written is known before the work. Errors: kFailedPrecondition if the runs come from other
  // sources, naming the first, or from another format; kInvalidArgument if it is some other file,
  // kDataLoss if it is damaged (neither is overwritten); those of reading and writing files.
  static base::StatusOr<FinishedRuns> Open(const std::string& path,
                                           const std::vector<RunSource>& sources);

  // In the order in which they ended.
  const std::vector<FinishedRun>& runs() const { return runs_; }

  // Adds a run and writes the file, unless that was done within the last second. Errors: those of
  // writing; the file then holds what it held.
  base::Status Add(FinishedRun run);
  // Writes what Add left unwritten.
  base::Status Save();

 private:
  FinishedRuns(std::string path, std::string header);
  base::Status Write();

  std::string path_;
  std::string header_;  // the file's first lines: format and sources
  std::vector<FinishedRun> runs_;
  bool unwritten_ = false;
  std::chrono::steady_clock::time_point last_write_;
};

}  // namespace submix::eval

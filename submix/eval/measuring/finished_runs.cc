// The file is text: a line with the format's number, a line "<sha256> <name>" for each source, a
// line "run <group> <values>" for each run, the values' 64 bits in hexadecimal, and at the end
// "end <sha256>" over everything before that line.
#include "submix/eval/measuring/finished_runs.h"

#include <bit>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <utility>

#include "submix/base/file_system.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

constexpr std::string_view kTitle = "submix evaluation, finished runs, format ";
constexpr std::string_view kFormat = "4";
constexpr std::string_view kEnd = "end ";
constexpr std::size_t kEndLine = kEnd.size() + 64 + 1;
constexpr std::string_view kMend = "; remove it, or give another file, to score from the start";

// The line at the front of `text`, which moves behind it.
std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Of a line that the file's hash vouches for.
FinishedRun ParseRun(std::string_view line) {
  std::istringstream words{std::string(line)};
  std::string run_word;
  FinishedRun run;
  words >> run_word >> run.group >> std::hex;
  for (std::uint64_t bits = 0; words >> bits;) run.values.push_back(std::bit_cast<double>(bits));
  return run;
}

std::string RunLine(const FinishedRun& run) {
  std::ostringstream line;
  line << "run " << run.group << std::hex << std::setfill('0');
  for (const double value : run.values) {
    line << ' ' << std::setw(16) << std::bit_cast<std::uint64_t>(value);
  }
  return line.str() + "\n";
}

std::string EndLine(std::string_view content) {
  return std::string(kEnd) + base::ToHex(base::Sha256(content)) + "\n";
}

std::string SourceLine(const RunSource& source) {
  return base::ToHex(source.digest) + " " + source.name;
}

StatusOr<std::vector<FinishedRun>> Parse(std::string_view content, const std::string& path,
                                         const std::vector<RunSource>& sources) {
  if (!content.starts_with(kTitle)) {
    return base::InvalidArgumentError(path +
                                      ": not a checkpoint of an evaluation; give another file");
  }
  const Status damaged =
      base::DataLossError(path + ": the checkpoint is damaged" + std::string(kMend));
  if (content.size() < kEndLine) return damaged;
  const std::string_view end = content.substr(content.size() - kEndLine);
  content.remove_suffix(kEndLine);
  if (end != EndLine(content)) return damaged;
  if (TakeLine(content).substr(kTitle.size()) != kFormat) {
    return base::FailedPreconditionError(
        path + ": the checkpoint has the format of another Submix" + std::string(kMend));
  }
  for (const RunSource& source : sources) {
    if (TakeLine(content) == SourceLine(source)) continue;
    return base::FailedPreconditionError(path + ": the checkpoint belongs to another evaluation (" +
                                         "other " + source.name + ")" + std::string(kMend));
  }
  std::vector<FinishedRun> runs;
  while (!content.empty()) runs.push_back(ParseRun(TakeLine(content)));
  return runs;
}

}  // namespace

FinishedRuns::FinishedRuns(std::string path, std::string header)
    : path_(std::move(path)), header_(std::move(header)) {}

StatusOr<FinishedRuns> FinishedRuns::Open(const std::string& path,
                                          const std::vector<RunSource>& sources) {
  std::string header = std::string(kTitle) + std::string(kFormat) + "\n";
  for (const RunSource& source : sources) header += SourceLine(source) + "\n";
  FinishedRuns finished(path, std::move(header));
  const auto content = base::ReadFile(path);
  if (content.status().code() == base::StatusCode::kNotFound) {
    SUBMIX_RETURN_IF_ERROR(finished.Write());
    return finished;
  }
  SUBMIX_RETURN_IF_ERROR(content.status());
  SUBMIX_ASSIGN_OR_RETURN(finished.runs_, Parse(*content, path, sources));
  return finished;
}

Status FinishedRuns::Add(FinishedRun run) {
  runs_.push_back(std::move(run));
  unwritten_ = true;
  if (std::chrono::steady_clock::now() - last_write_ < std::chrono::seconds(1)) {
    return base::OkStatus();
  }
  return Write();
}

Status FinishedRuns::Save() { return unwritten_ ? Write() : base::OkStatus(); }

Status FinishedRuns::Write() {
  std::string content = header_;
  for (const FinishedRun& run : runs_) content += RunLine(run);
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path_, content + EndLine(content), /*mode=*/0600));
  unwritten_ = false;
  last_write_ = std::chrono::steady_clock::now();
  return base::OkStatus();
}

}  // namespace submix::eval

// Synthetic documents on disk: OUT, one JSON object a line for each document, in the order in which
// they ended, and OUT.statement.json, which says of which run they are and what users are promised.
// The promise stands beside them so that every line of OUT is a document, for whoever reads JSONL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "submix/base/line_file.h"
#include "submix/base/status.h"

namespace submix::workbench {

// One thread at a time.
class DocumentFile {
 public:
  // What the documents depend on, by name: the deployment, the prompts … All of it is public.
  using Run = std::map<std::string, std::string>;

  // Reads what is there, and makes nothing yet. Errors: kFailedPrecondition for documents of
  // another run, or a file that is none of ours; kInvalidArgument naming a damaged line;
  // LineFile's.
  static base::StatusOr<DocumentFile> Open(const std::string& path, const Run& run);

  // Numbers of the documents that are written, and how many tokens they have.
  const std::set<std::int64_t>& written() const { return written_; }
  std::int64_t tokens() const { return tokens_; }

  // Makes the files that are not there yet: before the first Append. Errors: those of writing.
  base::Status Begin(const nlohmann::ordered_json& promise);
  // Adds a document with the number's text as its "id", and these other fields; of "tokens" it
  // keeps count. Errors: LineFile's.
  base::Status Append(std::int64_t number, const nlohmann::ordered_json& fields);

 private:
  DocumentFile(std::string path, Run run);

  base::Status ReadLine(std::int64_t line, std::string_view text);

  std::string path_;
  Run run_;
  std::optional<base::LineFile> lines_;
  std::set<std::int64_t> written_;
  std::int64_t tokens_ = 0;
};

}  // namespace submix::workbench

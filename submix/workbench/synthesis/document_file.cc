#include "submix/workbench/synthesis/document_file.h"

#include <charconv>
#include <climits>
#include <filesystem>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string StatementPath(const std::string& path) { return path + ".statement.json"; }

std::string TextOf(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Status CheckRun(const std::string& path, const DocumentFile::Run& run) {
  const auto statement = base::JsonObject::Load(StatementPath(path));
  if (statement.status().code() == base::StatusCode::kNotFound) {
    return base::FailedPreconditionError(path + ": is there already, and " + StatementPath(path) +
                                         " is not: give another name");
  }
  SUBMIX_RETURN_IF_ERROR(statement.status());
  SUBMIX_ASSIGN_OR_RETURN(const int format, statement->Int("format", 1, INT_MAX));
  SUBMIX_RETURN_IF_ERROR(base::CheckNotNewer(StatementPath(path), format, kFormat));
  SUBMIX_ASSIGN_OR_RETURN(auto found, statement->TextMap("run"));
  for (const auto& [name, value] : run) {
    if (found[name] == value) continue;
    return base::FailedPreconditionError(path + ": holds the documents of another run (other " +
                                         name + "); give another name");
  }
  return base::OkStatus();
}

}  // namespace

DocumentFile::DocumentFile(std::string path, Run run)
    : path_(std::move(path)), run_(std::move(run)) {}

StatusOr<DocumentFile> DocumentFile::Open(const std::string& path, const Run& run) {
  DocumentFile file(path, run);
  // An empty file without a statement: a run that ended at its beginning.
  std::error_code none;
  const bool is_begun =
      base::FileExists(StatementPath(path)) || !std::filesystem::is_empty(path, none);
  if (!base::FileExists(path) || !is_begun) return file;
  SUBMIX_RETURN_IF_ERROR(CheckRun(path, run));
  SUBMIX_ASSIGN_OR_RETURN(file.lines_,
                          base::LineFile::Open(path, [&](std::int64_t line, std::string_view text) {
                            return file.ReadLine(line, text);
                          }));
  return file;
}

Status DocumentFile::ReadLine(std::int64_t line, std::string_view text) {
  SUBMIX_ASSIGN_OR_RETURN(const auto object,
                          base::JsonObject::Parse(text, path_ + ":" + std::to_string(line)));
  SUBMIX_ASSIGN_OR_RETURN(const std::string id, object.Text("id"));
  SUBMIX_ASSIGN_OR_RETURN(const int tokens, object.Int("tokens", 1, INT_MAX));
  std::int64_t number = -1;
  const char* const end = id.data() + id.size();
  const auto [parsed_to, error] = std::from_chars(id.data(), end, number);
  if (error != std::errc() || parsed_to != end || number < 0) {
    return object.FieldError("id", "expected a number from 0");
  }
  if (!written_.insert(number).second) return object.FieldError("id", "stands there twice");
  tokens_ += tokens;
  return base::OkStatus();
}

Status DocumentFile::Begin(const Json& promise) {
  if (lines_.has_value()) return base::OkStatus();
  const Json statement = {
      {"format", kFormat},
      {"run", run_},
      {"covers",
       "these documents and all other answers of their deployment together, and whatever is made "
       "of them"},
      {"promise", promise}};
  const auto none = [this](std::int64_t, std::string_view) {
    return base::FailedPreconditionError(path_ + ": another process has begun to write it");
  };
  SUBMIX_ASSIGN_OR_RETURN(lines_, base::LineFile::Open(path_, none));
  return base::WriteFile(StatementPath(path_), TextOf(statement, 2) + "\n");
}

Status DocumentFile::Append(std::int64_t number, const Json& fields) {
  Json document = {{"id", std::to_string(number)}};
  document.update(fields);
  SUBMIX_RETURN_IF_ERROR(lines_->Append(TextOf(document)));
  written_.insert(number);
  tokens_ += fields["tokens"].get<std::int64_t>();
  return base::OkStatus();
}

}  // namespace submix::workbench

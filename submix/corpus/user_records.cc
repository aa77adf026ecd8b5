#include "submix/corpus/user_records.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/corpus/csv_rows.h"
#include "submix/corpus/json_record.h"
#include "submix/corpus/text_lines.h"
#include "submix/corpus/unpacked_file.h"
#include "submix/tokenizer/characters.h"

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;
using RecordSink = std::function<Status(const UserRecord&)>;

// The status, with its place if it is an error.
Status AtLine(const std::string& path, std::int64_t line, const Status& status) {
  if (status.ok()) return status;
  return {status.code(), path + ":" + std::to_string(line) + ": " + status.message()};
}

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

Status ReadJsonLines(const CorpusFile& file, const RecordSink& sink) {
  return ReadLines(file.path, [&](std::int64_t line, std::string_view text) -> Status {
    if (IsBlank(text)) return base::OkStatus();
    StatusOr<UserRecord> record = ParseJsonRecord(file, text);
    if (!record.ok()) return AtLine(file.path, line, record.status());
    record->line = line;
    return AtLine(file.path, line, sink(*record));
  });
}

// Errors: kInvalidArgument for what no text holds.
Status CheckText(std::string_view bytes) {
  if (bytes.find('\0') != std::string_view::npos) {
    return base::InvalidArgumentError("the row holds a NUL byte, which no text has");
  }
  if (tokenizer::FindIllFormed(bytes, 0) == bytes.size()) return base::OkStatus();
  return base::InvalidArgumentError("the row is not UTF-8: convert the file to UTF-8");
}

// The names of a header for a message. What is no header may be a user's text: long names are left
// out.
std::string ListOf(const std::vector<std::string>& columns) {
  constexpr std::size_t kMostListed = 12;
  constexpr std::size_t kLongestName = 32;
  std::string list;
  for (std::size_t i = 0; i < columns.size() && i < kMostListed; ++i) {
    const bool is_name = columns[i].size() <= kLongestName;
    list += (i == 0 ? "" : ", ") + (is_name ? base::JsonText(columns[i]) : "(long)");
  }
  return list + (columns.size() > kMostListed ? ", ..." : "");
}

// What stands between the columns of a header that is one column to a comma. None: nothing known.
std::optional<char> OtherSeparator(const std::string& header) {
  for (const char separator : {';', '\t', '|'}) {
    if (header.find(separator) != std::string::npos) return separator;
  }
  return std::nullopt;
}

std::string SeparatorName(char separator) {
  return separator == ';' ? "semicolons" : separator == '\t' ? "tabs" : "bars";
}

std::vector<std::string> Split(const std::string& header, char separator) {
  std::vector<std::string> columns;
  std::istringstream fields(header);
  for (std::string field; std::getline(fields, field, separator);) columns.push_back(field);
  return columns;
}

// Rows of which the first names the columns.
class CsvRecords {
 public:
  CsvRecords(const CorpusFile& file, const RecordSink& sink) : file_(file), sink_(sink) {}

  Status Add(std::int64_t line, std::vector<std::string>& fields) {
    return AtLine(file_.path, line, num_columns_ == 0 ? ReadHeader(fields) : Read(line, fields));
  }

 private:
  Status ReadHeader(const std::vector<std::string>& columns) {
    SUBMIX_ASSIGN_OR_RETURN(user_, Find(file_.user_column, "--user-column", columns));
    messages_ = FindIfOne(kMessagesField, columns);
    prompt_ = FindIfOne(kPromptField, columns);
    completion_ = FindIfOne(kCompletionField, columns);
    // Not read as none: whose the records are would be lost.
    if (std::ranges::count(columns, kOwnersField) > 0) {
      SUBMIX_ASSIGN_OR_RETURN(owners_, Find(kOwnersField, "or none", columns));
    }
    const bool has_other_form = messages_ || (prompt_ && completion_);
    const bool has_text = std::ranges::count(columns, file_.text_column) > 0;
    if (has_text || !has_other_form) {
      SUBMIX_ASSIGN_OR_RETURN(text_, Find(file_.text_column, "--text-column", columns));
    }
    num_columns_ = columns.size();
    return base::OkStatus();
  }

  static std::optional<std::size_t> FindIfOne(const std::string& name,
                                              const std::vector<std::string>& columns) {
    if (std::ranges::count(columns, name) != 1) return std::nullopt;
    return static_cast<std::size_t>(std::ranges::find(columns, name) - columns.begin());
  }

  static StatusOr<std::size_t> Find(const std::string& name, const char* option,
                                    const std::vector<std::string>& columns) {
    const auto found = std::ranges::find(columns, name);
    const auto count = std::ranges::count(columns, name);
    if (count == 1) return static_cast<std::size_t>(found - columns.begin());
    const auto separator = columns.size() == 1 ? OtherSeparator(columns.front()) : std::nullopt;
    if (separator.has_value()) {
      return base::InvalidArgumentError(
          "the header's columns " + ListOf(Split(columns.front(), *separator)) +
          " are separated by " + SeparatorName(*separator) +
          ", expected commas: write the file as CSV with commas, or as JSONL");
    }
    return base::InvalidArgumentError("the header names " + std::to_string(count) + " columns " +
                                      base::JsonText(name) + ", expected one (" + option +
                                      "); its columns, by commas: " + ListOf(columns));
  }

  Status Read(std::int64_t line, std::vector<std::string>& fields) {
    if (fields.size() != num_columns_) {
      return base::InvalidArgumentError("the row has " + std::to_string(fields.size()) +
                                        " fields, the header " + std::to_string(num_columns_));
    }
    if (fields[user_].empty()) return EmptyUserError(file_);
    for (const auto& column :
         {std::optional(user_), text_, messages_, prompt_, completion_, owners_}) {
      if (column) SUBMIX_RETURN_IF_ERROR(CheckText(fields[*column]));
    }
    UserRecord record;
    SUBMIX_RETURN_IF_ERROR(ReadForm(fields, record));
    record.user = std::move(fields[user_]);
    if (owners_ && !IsBlank(fields[*owners_])) {
      SUBMIX_ASSIGN_OR_RETURN(record.has_other_owners,
                              HasOtherOwners(fields[*owners_], record.user));
    }
    record.line = line;
    return sink_(record);
  }

  // Of a table with several forms, a row fills one.
  Status ReadForm(const std::vector<std::string>& fields, UserRecord& record) const {
    const auto cell = [&](const std::optional<std::size_t>& column) {
      return column ? fields[*column] : std::string();
    };
    const std::string text = cell(text_);
    const std::string messages = cell(messages_);
    const std::string completion = cell(completion_);
    const bool has_pair = prompt_ && !completion.empty();
    SUBMIX_RETURN_IF_ERROR(CheckOneForm(file_, !text.empty(), IsJsonList(messages), has_pair));
    if (!messages.empty() && text.empty()) {
      SUBMIX_ASSIGN_OR_RETURN(record.messages, ParseMessages("{\"messages\": " + messages + "}"));
    } else if (has_pair || (!text_ && !messages_)) {
      return SetPair(cell(prompt_), completion, record);
    } else if (!text_) {
      return base::InvalidArgumentError("the row has neither \"messages\" nor a completion");
    }
    record.text = text;
    return base::OkStatus();
  }

  static bool IsJsonList(const std::string& cell) {
    const std::size_t begin = cell.find_first_not_of(" \t\r\n");
    return begin != std::string::npos && cell[begin] == '[';
  }

  const CorpusFile& file_;
  const RecordSink& sink_;
  std::size_t num_columns_ = 0;  // 0: before the header
  std::size_t user_ = 0;
  // None: no such column.
  std::optional<std::size_t> text_;
  std::optional<std::size_t> messages_;
  std::optional<std::size_t> prompt_;
  std::optional<std::size_t> completion_;
  std::optional<std::size_t> owners_;
};

bool IsCsv(std::string_view path) {
  path = WithoutPackedEnding(path);
  return path.ends_with(".csv") || path.ends_with(".CSV");
}

}  // namespace

std::string UserRecord::Written() const {
  std::string written = text;
  for (const chat::ChatMessage& message : messages) {
    written += (written.empty() ? "" : "\n") + message.content;
  }
  return written;
}

bool IsUserKeyed(std::string_view path) {
  return IsCsv(path) || WithoutPackedEnding(path).ends_with(".jsonl");
}

StatusOr<bool> HasUser(const CorpusFile& file, std::string_view user) {
  bool found = false;
  SUBMIX_RETURN_IF_ERROR(ReadAllRecords(file, [&](const UserRecord& record) {
    found = found || record.user == user;
    return base::OkStatus();
  }));
  return found;
}

Status ReadUserRecords(const CorpusFile& file, const RecordSink& sink) {
  return ReadAllRecords(file, [&](const UserRecord& record) {
    return record.has_other_owners ? base::OkStatus() : sink(record);
  });
}

Status ReadAllRecords(const CorpusFile& file, const RecordSink& sink) {
  bool has_record = false;
  const RecordSink counting = [&](const UserRecord& record) {
    has_record = true;
    return sink(record);
  };
  if (IsCsv(file.path)) {
    CsvRecords records(file, counting);
    SUBMIX_RETURN_IF_ERROR(ReadCsvRows(
        file.path, [&](std::int64_t line, auto& fields) { return records.Add(line, fields); }));
  } else {
    SUBMIX_RETURN_IF_ERROR(ReadJsonLines(file, counting));
  }
  if (has_record) return base::OkStatus();
  return base::InvalidArgumentError(
      file.path + ": no record: expected " +
      (IsCsv(file.path) ? "a header and rows" : "lines such as " + JsonRecordExample(file)));
}

}  // namespace submix::corpus

#include "submix/corpus/user_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/corpus/csv_rows.h"
#include "submix/corpus/text_lines.h"
#include "submix/tokenizer/characters.h"

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;
using RecordSink = std::function<Status(const UserRecord&)>;

Status LineError(const std::string& path, std::int64_t line, const std::string& message) {
  return base::InvalidArgumentError(path + ":" + std::to_string(line) + ": " + message);
}

std::string Quoted(const std::string& name) { return '"' + name + '"'; }

std::string Example(const CorpusFile& file) {
  return "{" + Quoted(file.user_column) + ": \"u1\", " + Quoted(file.text_column) + ": \"...\"}";
}

Status EmptyUserError(const CorpusFile& file) {
  return base::InvalidArgumentError(Quoted(file.user_column) +
                                    " is empty: give every record its user's key");
}

// A field of the record as far as it has been read; the last of equal names counts.
struct StringField {
  bool is_there = false;
  std::optional<std::string> value;  // nothing if it is not a string
};

// Picks "user" and "text" out of one JSON object without building the rest of it.
class RecordParser final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RecordParser(const CorpusFile& file) : file_(file) {}

  // What the line says, or an error message without its place.
  StatusOr<UserRecord> Parse(std::string_view line) {
    // The library takes a NUL for the end of the text and would not see what follows.
    if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
      return base::InvalidArgumentError(SyntaxError(nul + 1));
    }
    if (!nlohmann::json::sax_parse(line.begin(), line.end(), this)) {
      return base::InvalidArgumentError(syntax_error_);
    }
    if (!is_object_) {
      return base::InvalidArgumentError("expected an object such as " + Example(file_));
    }
    UserRecord record;
    SUBMIX_ASSIGN_OR_RETURN(record.user, Take(file_.user_column, user_));
    SUBMIX_ASSIGN_OR_RETURN(record.text, Take(file_.text_column, text_));
    if (record.user.empty()) return EmptyUserError(file_);
    return record;
  }

  bool null() override { return OtherValue(); }
  bool boolean(bool) override { return OtherValue(); }
  bool number_integer(number_integer_t) override { return OtherValue(); }
  bool number_unsigned(number_unsigned_t) override { return OtherValue(); }
  bool number_float(number_float_t, const string_t&) override { return OtherValue(); }
  bool binary(binary_t&) override { return OtherValue(); }
  bool string(string_t& value) override {
    if (field_ != nullptr) *field_ = StringField{true, std::move(value)};
    field_ = nullptr;
    return true;
  }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    return Open();
  }
  bool start_array(std::size_t) override { return Open(); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    field_ = name == file_.user_column ? &user_ : name == file_.text_column ? &text_ : nullptr;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    const bool is_encoding =
        std::string_view(error.what()).find("ill-formed UTF-8") != std::string_view::npos;
    syntax_error_ = is_encoding ? "byte " + std::to_string(position) +
                                      " of the line is not UTF-8: convert the file to UTF-8"
                                : SyntaxError(position);
    return false;
  }

 private:
  // `position` counts from 1.
  std::string SyntaxError(std::size_t position) const {
    return "invalid JSON at byte " + std::to_string(position) +
           " of the line: expected one object such as " + Example(file_);
  }
  bool OtherValue() {
    if (field_ != nullptr) *field_ = StringField{true, std::nullopt};
    field_ = nullptr;
    return true;
  }
  bool Open() {
    ++depth_;
    return OtherValue();
  }
  bool Close() {
    --depth_;
    return true;
  }
  StatusOr<std::string> Take(const std::string& name, StringField& field) const {
    if (field.value) return *std::move(field.value);
    return base::InvalidArgumentError(Quoted(name) + " is " +
                                      (field.is_there ? "not a string" : "missing") +
                                      ": expected an object such as " + Example(file_));
  }

  const CorpusFile& file_;
  int depth_ = 0;
  bool is_object_ = false;
  StringField user_;
  StringField text_;
  StringField* field_ = nullptr;  // where the next value belongs; null: nowhere
  std::string syntax_error_;
};

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

Status ReadJsonLines(const CorpusFile& file, const RecordSink& sink) {
  return ReadLines(file.path, [&](std::int64_t line, std::string_view text) -> Status {
    if (IsBlank(text)) return base::OkStatus();
    StatusOr<UserRecord> record = RecordParser(file).Parse(text);
    if (!record.ok()) return LineError(file.path, line, record.status().message());
    record->line = line;
    return sink(*record);
  });
}

bool IsText(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos &&
         tokenizer::FindIllFormed(bytes, 0) == bytes.size();
}

// Rows of which the first names the columns.
class CsvRecords {
 public:
  CsvRecords(const CorpusFile& file, const RecordSink& sink) : file_(file), sink_(sink) {}

  Status Add(std::int64_t line, std::vector<std::string>& fields) {
    Status status = num_columns_ == 0 ? ReadHeader(fields) : Read(line, fields);
    return status.ok() ? sent_ : LineError(file_.path, line, status.message());
  }

 private:
  Status ReadHeader(const std::vector<std::string>& columns) {
    SUBMIX_ASSIGN_OR_RETURN(user_, Find(file_.user_column, "--user-column", columns));
    SUBMIX_ASSIGN_OR_RETURN(text_, Find(file_.text_column, "--text-column", columns));
    num_columns_ = columns.size();
    return base::OkStatus();
  }

  static StatusOr<std::size_t> Find(const std::string& name, const char* option,
                                    const std::vector<std::string>& columns) {
    const auto found = std::ranges::find(columns, name);
    const auto count = std::ranges::count(columns, name);
    if (count == 1) return static_cast<std::size_t>(found - columns.begin());
    return base::InvalidArgumentError("the header names " + std::to_string(count) + " columns " +
                                      Quoted(name) + ", expected one (" + option + ")");
  }

  Status Read(std::int64_t line, std::vector<std::string>& fields) {
    if (fields.size() != num_columns_) {
      return base::InvalidArgumentError("the row has " + std::to_string(fields.size()) +
                                        " fields, the header " + std::to_string(num_columns_));
    }
    if (fields[user_].empty()) return EmptyUserError(file_);
    for (const std::size_t column : {user_, text_}) {
      if (IsText(fields[column])) continue;
      return base::InvalidArgumentError("the row is not UTF-8: convert the file to UTF-8");
    }
    sent_ = sink_({std::move(fields[user_]), std::move(fields[text_]), line});
    return base::OkStatus();
  }

  const CorpusFile& file_;
  const RecordSink& sink_;
  std::size_t num_columns_ = 0;  // 0: before the header
  std::size_t user_ = 0;
  std::size_t text_ = 0;
  Status sent_;
};

bool IsCsv(std::string_view path) {
  path = WithoutPackedEnding(path);
  return path.ends_with(".csv") || path.ends_with(".CSV");
}

}  // namespace

bool IsUserKeyed(std::string_view path) {
  return IsCsv(path) || WithoutPackedEnding(path).ends_with(".jsonl");
}

Status ReadUserRecords(const CorpusFile& file, const RecordSink& sink) {
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
      (IsCsv(file.path) ? "a header and rows" : "lines such as " + Example(file)));
}

}  // namespace submix::corpus

#include "submix/corpus/json_record.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/base/json_object.h"

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

Status OwnersError() {
  return base::InvalidArgumentError(
      "\"owners\" is no list of user keys: give a list such as [\"u1\", \"u2\"], or leave it out");
}

// What is wrong at a byte of a line of JSON, in words that hold nothing of the line. `message` is
// the library's, which quotes the line behind "last read"; `rest` is the line from the word on
// in which reading ended.
std::string Reason(std::string_view message, std::string_view rest) {
  struct Written {
    std::string_view text;
    const char* reason;
  };
  constexpr Written kWritten[] = {
      {"NaN", "NaN is no JSON; write null, or leave the field out"},
      {"Infinity", "Infinity is no JSON; write null, or leave the field out"},
      {"nan", "nan is no JSON; write null, or leave the field out"},
      {"inf", "inf is no JSON; write null, or leave the field out"},
      {"None", "None is Python's; JSON has null"},
      {"True", "True is Python's; JSON has true"},
      {"False", "False is Python's; JSON has false"},
      {"'", "JSON's strings stand in double quotes"},
  };
  message = message.substr(0, message.find("last read"));
  constexpr Written kSaid[] = {
      {"surrogate", "half of a surrogate pair, \\ud800 to \\udfff, without the other half"},
      {"missing closing quote",
       "the line ends within a string: cut short, or one object over "
       "several lines"},
      {"control character", "a control character that is not escaped"},
      {"backslash", "a backslash before a character that takes none"},
      {"hex digits", "\\u without four hex digits"},
      {"number overflow", "a number too large for any program"},
      {"; expected end of input", "something follows the value: one object a line"},
      {"unexpected end of input",
       "the line ends before the value does: cut short, or one object "
       "over several lines"},
      {"invalid number", "no number"},
      {"invalid literal", "no JSON value begins so"},
      {"; expected ':'", "a colon is missing after a name"},
      {"; expected string literal", "a name in double quotes is missing"},
      {"; expected '}'", "a comma or a closing brace is missing"},
      {"; expected ']'", "a comma or a closing bracket is missing"},
  };
  const bool is_token = message.find("invalid literal") != message.npos ||
                        message.find("invalid number") != message.npos;
  for (const Written& written : kWritten) {
    if (is_token && rest.starts_with(written.text)) return written.reason;
  }
  for (const Written& said : kSaid) {
    if (message.find(said.text) != message.npos) return said.reason;
  }
  return "a value is missing";
}

constexpr char kNull[] = "null";
constexpr char kList[] = "an array";

// A field of the record as far as it has been read; the last of equal names counts.
struct Field {
  std::optional<std::string> value;  // nothing if it is not a string
  const char* found = nullptr;       // what it is instead; null: not there
  bool is_integer = false;
  bool is_null = false;

  bool is_there() const { return (value || found != nullptr) && !is_null; }
};

// Picks "user" and "text" out of one JSON object without building the rest of it.
class RecordParser final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit RecordParser(const CorpusFile& file) : file_(file) {}

  StatusOr<UserRecord> Parse(std::string_view line) {
    line_ = line;
    // The library takes a NUL for the end of the text and would not see what follows.
    if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
      return base::InvalidArgumentError(SyntaxError(nul + 1, "a NUL byte, which no text has"));
    }
    if (!nlohmann::json::sax_parse(line.begin(), line.end(), this)) {
      return base::InvalidArgumentError(syntax_error_);
    }
    if (!is_object_) {
      return base::InvalidArgumentError("expected an object such as " + JsonRecordExample(file_));
    }
    UserRecord record;
    SUBMIX_ASSIGN_OR_RETURN(record.user, Take(file_.user_column, user_, "a string or an integer"));
    SUBMIX_RETURN_IF_ERROR(ReadForm(record));
    if (record.user.empty()) return EmptyUserError(file_);
    if (owners_.found == nullptr || owners_.found == std::string_view(kNull)) return record;
    if (owners_.found != std::string_view(kList) || !owners_are_keys_) return OwnersError();
    record.has_other_owners = std::ranges::any_of(
        owner_keys_, [&](const std::string& owner) { return owner != record.user; });
    return record;
  }

  bool null() override { return Other(kNull); }
  bool boolean(bool) override { return Other("true or false"); }
  bool number_integer(number_integer_t value) override { return Integer(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Integer(std::to_string(value)); }
  // Also of integers that 64 bits do not hold.
  bool number_float(number_float_t, const string_t& written) override {
    if (written.find_first_not_of("-0123456789") == written.npos) return Integer(written);
    return Other("a number with a fraction or an exponent");
  }
  bool binary(binary_t&) override { return Other("binary"); }
  bool string(string_t& value) override { return Set({std::move(value), "a string", false}); }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object_ = true;
    return Open("an object");
  }
  bool start_array(std::size_t) override { return Open(kList); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    field_ = name == file_.user_column   ? &user_
             : name == file_.text_column ? &text_
             : name == kMessagesField    ? &messages_
             : name == kPromptField      ? &prompt_
             : name == kCompletionField  ? &completion_
             : name == kOwnersField      ? &owners_
                                         : nullptr;
    reads_owners_ = field_ == &owners_;
    if (reads_owners_) {
      owner_keys_.clear();
      owners_are_keys_ = true;
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) override {
    const std::string_view message = error.what();
    const std::string_view read = line_.substr(0, position - 1);
    const std::string_view rest = line_.substr(read.find_last_not_of("adefilnrstuy") + 1);
    syntax_error_ = message.find("ill-formed UTF-8") != message.npos
                        ? "byte " + std::to_string(position) +
                              " of the line is not UTF-8: convert the file to UTF-8"
                        : SyntaxError(position, Reason(message, rest));
    return false;
  }

 private:
  // `position` counts from 1.
  std::string SyntaxError(std::size_t position, const std::string& reason) const {
    return "invalid JSON at byte " + std::to_string(position) + " of the line: " + reason +
           "; expected one object such as " + JsonRecordExample(file_);
  }
  bool Set(Field value) {
    // Within the list of owners; what stands deeper stands in something that is no key.
    if (reads_owners_ && depth_ >= 2) {
      owners_are_keys_ = owners_are_keys_ && value.value.has_value();
      if (value.value) owner_keys_.push_back(*std::move(value.value));
      return true;
    }
    if (field_ != nullptr) *field_ = std::move(value);
    field_ = nullptr;
    return true;
  }
  bool Other(const char* found) { return Set({std::nullopt, found, false}); }
  bool Integer(std::string written) { return Set({std::move(written), "a number", true}); }
  bool Open(const char* found) {
    const bool set = Other(found);
    ++depth_;
    return set;
  }
  bool Close() {
    --depth_;
    return true;
  }
  StatusOr<std::string> Take(const std::string& name, Field& field, const char* expected) const {
    if (field.value) return *std::move(field.value);
    const std::string found =
        field.found == nullptr ? "missing" : std::string("not ") + expected + " but " + field.found;
    return base::InvalidArgumentError(base::JsonText(name) + " is " + found +
                                      ": expected an object such as " + JsonRecordExample(file_));
  }

  Status ReadForm(UserRecord& record) {
    // A column that a table left empty is null.
    for (Field* field : {&text_, &messages_, &prompt_, &completion_}) {
      if (field->is_integer) field->value.reset();
      field->is_null = field->found != nullptr && std::string_view(field->found) == kNull;
    }
    // Beside a text, fields of these names may be anything else.
    const bool has_text = text_.is_there();
    const bool has_messages =
        messages_.is_there() && (!has_text || messages_.found == std::string_view(kList));
    const bool has_pair = prompt_.value && completion_.value;
    SUBMIX_RETURN_IF_ERROR(CheckOneForm(file_, has_text, has_messages, has_pair));
    if (has_messages) {
      SUBMIX_ASSIGN_OR_RETURN(record.messages, ParseMessages(line_));
      return base::OkStatus();
    }
    if (!has_text && (prompt_.is_there() || completion_.is_there())) {
      SUBMIX_ASSIGN_OR_RETURN(const std::string prompt, Take(kPromptField, prompt_, "a string"));
      SUBMIX_ASSIGN_OR_RETURN(const std::string completion,
                              Take(kCompletionField, completion_, "a string"));
      return SetPair(prompt, completion, record);
    }
    SUBMIX_ASSIGN_OR_RETURN(record.text, Take(file_.text_column, text_, "a string"));
    return base::OkStatus();
  }

  const CorpusFile& file_;
  std::string_view line_;
  int depth_ = 0;
  bool is_object_ = false;
  Field user_;
  Field text_;
  Field messages_;
  Field prompt_;
  Field completion_;
  Field owners_;
  bool reads_owners_ = false;  // the value of the field that was named last
  bool owners_are_keys_ = true;
  std::vector<std::string> owner_keys_;
  Field* field_ = nullptr;  // where the next value belongs; null: nowhere
  std::string syntax_error_;
};

}  // namespace

StatusOr<bool> HasOtherOwners(const std::string& owners, const std::string& user) {
  const StatusOr<UserRecord> record = ParseJsonRecord(
      {}, "{\"user\": " + base::JsonText(user) + ", \"text\": \"\", \"owners\": " + owners + "}");
  if (!record.ok()) return OwnersError();
  return record->has_other_owners;
}

StatusOr<UserRecord> ParseJsonRecord(const CorpusFile& file, std::string_view line) {
  return RecordParser(file).Parse(line);
}

std::string JsonRecordExample(const CorpusFile& file) {
  return "{" + base::JsonText(file.user_column) + ": \"u1\", " + base::JsonText(file.text_column) +
         ": \"...\"}";
}

StatusOr<std::vector<chat::ChatMessage>> ParseMessages(std::string_view record) {
  const auto object = base::JsonObject::Parse(record, "");
  if (object.ok()) return chat::ReadConversation(*object);
  return base::InvalidArgumentError(
      "\"messages\" cannot be read: the record is no JSON, says a name twice in one object, or has "
      "objects within objects beyond count");
}

Status CheckOneForm(const CorpusFile& file, bool has_text, bool has_messages, bool has_pair) {
  if (has_text + has_messages + has_pair <= 1) return base::OkStatus();
  return base::InvalidArgumentError(
      "the record holds more than one of " + base::JsonText(file.text_column) +
      ", \"messages\" and \"prompt\" with \"completion\": leave one of them");
}

Status SetPair(const std::string& prompt, const std::string& completion, UserRecord& record) {
  if (completion.empty()) {
    return base::InvalidArgumentError(
        "\"completion\" is empty: give the answer, or leave the record out");
  }
  record.prompt_bytes = prompt.size();
  record.text = prompt + completion;
  return base::OkStatus();
}

std::string JsonLine(const UserRecord& record) {
  std::string line = "{\"user\": " + base::JsonText(record.user);
  if (record.prompt_bytes) {
    line += ", \"prompt\": " + base::JsonText(record.text.substr(0, *record.prompt_bytes)) +
            ", \"completion\": " + base::JsonText(record.text.substr(*record.prompt_bytes));
  } else if (record.messages.empty()) {
    line += ", \"text\": " + base::JsonText(record.text);
  } else {
    line += ", \"messages\": " + chat::MessagesJson(record.messages);
  }
  return line + "}\n";
}

Status EmptyUserError(const CorpusFile& file) {
  return base::InvalidArgumentError(base::JsonText(file.user_column) +
                                    " is empty: give every record its user's key");
}

}  // namespace submix::corpus

#include "submix/corpus/user_records.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <optional>
#include <streambuf>
#include <utility>

#include <lzma.h>
#include <nlohmann/json.hpp>

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

using LineSink = std::function<Status(std::int64_t line, std::string_view text)>;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kExample = R"({"user": "u1", "text": "..."})";

constexpr std::string_view kXzMagic(
    "\xfd"
    "7zXZ\0",
    6);
// Far above what `xz -9` needs; a lying header cannot ask for more.
constexpr std::uint64_t kMaxUnpackingBytes = std::uint64_t{1} << 30;

// Whether the file starts with `magic`; leaves it at its start. Works on pipes too.
bool StartsWith(std::istream& file, std::string_view magic) {
  std::string start(magic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  const std::streamsize count = file.gcount();
  file.clear();
  for (std::streamsize i = 0; i < count; ++i) file.unget();
  return start == magic;
}

// What an .xz file unpacks to. Ends where it is damaged, and then has a status.
class XzBuffer final : public std::streambuf {
 public:
  XzBuffer(std::string path, std::istream& packed) : path_(std::move(path)), packed_(packed) {
    if (lzma_stream_decoder(&stream_, kMaxUnpackingBytes, LZMA_CONCATENATED) != LZMA_OK) {
      status_ = base::InternalError(path_ + ": liblzma could not be started");
    }
  }
  ~XzBuffer() override { lzma_end(&stream_); }
  XzBuffer(const XzBuffer&) = delete;
  XzBuffer& operator=(const XzBuffer&) = delete;

  // kDataLoss for a damaged or cut file.
  const Status& status() const { return status_; }

 protected:
  int_type underflow() override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(output_.data());
    stream_.avail_out = output_.size();
    while (status_.ok() && !at_end_ && stream_.avail_out == output_.size()) {
      if (stream_.avail_in == 0) {
        packed_.read(input_.data(), std::ssize(input_));
        stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
        stream_.avail_in = static_cast<std::size_t>(packed_.gcount());
      }
      const lzma_ret result = lzma_code(&stream_, packed_ ? LZMA_RUN : LZMA_FINISH);
      at_end_ = result == LZMA_STREAM_END;
      if (!at_end_ && result != LZMA_OK) status_ = ErrorOf(result);
    }
    if (!status_.ok()) return traits_type::eof();
    setg(output_.data(), output_.data(), output_.data() + output_.size() - stream_.avail_out);
    return gptr() == egptr() ? traits_type::eof() : traits_type::to_int_type(*gptr());
  }

 private:
  Status ErrorOf(lzma_ret result) const {
    switch (result) {
      case LZMA_FORMAT_ERROR:
        return base::DataLossError(path_ + ": is not an .xz file, although its name says so");
      case LZMA_BUF_ERROR:
        return base::DataLossError(path_ + ": the .xz file is cut short; copy it again");
      case LZMA_MEMLIMIT_ERROR:
        return base::DataLossError(path_ +
                                   ": unpacking would take over 1 GiB of memory; pack it "
                                   "again with `xz -6`");
      case LZMA_MEM_ERROR:
        return base::ResourceExhaustedError(path_ + ": not enough memory to unpack the .xz file");
      default:
        return base::DataLossError(path_ + ": the .xz file is damaged; copy it again");
    }
  }

  std::string path_;
  std::istream& packed_;
  std::array<char, 1 << 16> input_;
  std::array<char, 1 << 16> output_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool at_end_ = false;
  Status status_;
};

// A field of the record as far as it has been read; the last of equal names counts.
struct StringField {
  bool is_there = false;
  std::optional<std::string> value;  // nothing if it is not a string
};

// Picks "user" and "text" out of one JSON object without building the rest of it.
class RecordParser final : public nlohmann::json_sax<nlohmann::json> {
 public:
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
      return base::InvalidArgumentError("expected an object such as " + std::string(kExample));
    }
    UserRecord record;
    SUBMIX_ASSIGN_OR_RETURN(record.user, Take("user", user_));
    SUBMIX_ASSIGN_OR_RETURN(record.text, Take("text", text_));
    if (record.user.empty()) {
      return base::InvalidArgumentError("\"user\" is empty: give every record its user's key");
    }
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
    if (depth_ == 1) field_ = name == "user" ? &user_ : name == "text" ? &text_ : nullptr;
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
  static std::string SyntaxError(std::size_t position) {
    return "invalid JSON at byte " + std::to_string(position) +
           " of the line: expected one object such as " + std::string(kExample);
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
  static StatusOr<std::string> Take(const std::string& name, StringField& field) {
    if (field.value) return *std::move(field.value);
    return base::InvalidArgumentError("\"" + name + "\" is " +
                                      (field.is_there ? "not a string" : "missing") +
                                      ": expected an object such as " + std::string(kExample));
  }

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

}  // namespace

Status ReadLines(const std::string& path, const LineSink& sink) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const std::string message = path + ": cannot be opened for reading: " + std::strerror(errno);
    return errno == ENOENT ? base::NotFoundError(message) : base::InternalError(message);
  }
  const bool is_packed = path.ends_with(".xz") || StartsWith(file, kXzMagic);
  XzBuffer unpacked(path, file);
  std::istream lines(is_packed ? static_cast<std::streambuf*>(&unpacked) : file.rdbuf());
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line) && unpacked.status().ok();) {
    std::string_view text = line;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (++number == 1 && text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    SUBMIX_RETURN_IF_ERROR(sink(number, text));
  }
  if (file.bad() || lines.bad()) {
    return base::InternalError(path + ": reading failed: " + std::strerror(errno));
  }
  return unpacked.status();
}

Status ReadUserRecords(const std::string& path,
                       const std::function<Status(const UserRecord&)>& sink) {
  bool has_record = false;
  SUBMIX_RETURN_IF_ERROR(ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
    if (IsBlank(text)) return base::OkStatus();
    StatusOr<UserRecord> record = RecordParser().Parse(text);
    if (!record.ok()) {
      return base::InvalidArgumentError(path + ":" + std::to_string(line) + ": " +
                                        record.status().message());
    }
    has_record = true;
    record->line = line;
    return sink(*record);
  }));
  if (has_record) return base::OkStatus();
  return base::InvalidArgumentError(path + ": no record: expected lines such as " +
                                    std::string(kExample));
}

}  // namespace submix::corpus

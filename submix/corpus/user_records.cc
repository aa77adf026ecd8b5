#include "submix/corpus/user_records.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <lzma.h>
#include <nlohmann/json.hpp>

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

using LineSink = std::function<Status(std::int64_t line, std::string_view text)>;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::string_view kExample = R"({"user": "u1", "text": "..."})";

// --- Bytes

// The bytes of a file in pieces, unpacked on the way if it is an .xz file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Opens `path`; a file that ends in ".xz" or starts with xz's magic bytes is unpacked. Errors:
  // kNotFound, kInternal.
  static StatusOr<std::unique_ptr<ByteSource>> Open(const std::string& path);

  // Fills the start of `buffer` (not empty) and returns how many bytes that were, 0 only at the
  // end. Errors: kDataLoss for a damaged or cut .xz; kInternal for a failed read.
  virtual StatusOr<std::size_t> Read(std::span<char> buffer) = 0;
};

constexpr std::string_view kXzMagic(
    "\xfd"
    "7zXZ\0",
    6);
// Far above what `xz -9` needs; a lying header cannot ask for more.
constexpr std::uint64_t kMaxUnpackingBytes = std::uint64_t{1} << 30;

class PlainSource final : public ByteSource {
 public:
  PlainSource(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  ~PlainSource() override { std::fclose(file_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  StatusOr<std::size_t> Read(std::span<char> buffer) override {
    if (!start_.empty()) {
      const std::size_t count = start_.copy(buffer.data(), buffer.size());
      start_.erase(0, count);
      return count;
    }
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file_);
    if (count == 0 && std::ferror(file_) != 0) {
      return base::InternalError(path_ + ": reading failed: " + std::strerror(errno));
    }
    return count;
  }

  // Whether the file starts with `magic`; works on pipes too. Call before the first Read.
  bool StartsWith(std::string_view magic) {
    start_.resize(magic.size());
    start_.resize(std::fread(start_.data(), 1, start_.size(), file_));
    return start_ == magic;
  }

 private:
  std::string path_;
  std::FILE* file_;
  std::string start_;  // read ahead by StartsWith, not yet given out
};

class XzSource final : public ByteSource {
 public:
  XzSource(std::string path, std::unique_ptr<ByteSource> packed)
      : path_(std::move(path)), packed_(std::move(packed)) {}
  ~XzSource() override { lzma_end(&stream_); }
  XzSource(const XzSource&) = delete;
  XzSource& operator=(const XzSource&) = delete;

  Status Start() {
    if (lzma_stream_decoder(&stream_, kMaxUnpackingBytes, LZMA_CONCATENATED) != LZMA_OK) {
      return base::InternalError(path_ + ": liblzma could not be started");
    }
    return base::OkStatus();
  }

  StatusOr<std::size_t> Read(std::span<char> buffer) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer.data());
    stream_.avail_out = buffer.size();
    while (!at_end_ && stream_.avail_out == buffer.size()) {
      if (stream_.avail_in == 0) SUBMIX_RETURN_IF_ERROR(Refill());
      const lzma_ret result = lzma_code(&stream_, packed_ended_ ? LZMA_FINISH : LZMA_RUN);
      if (result == LZMA_STREAM_END) {
        at_end_ = true;
      } else if (result != LZMA_OK) {
        return ErrorOf(result);
      }
    }
    return buffer.size() - stream_.avail_out;
  }

 private:
  Status Refill() {
    SUBMIX_ASSIGN_OR_RETURN(stream_.avail_in, packed_->Read(input_));
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(input_.data());
    packed_ended_ = stream_.avail_in == 0;
    return base::OkStatus();
  }

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
  std::unique_ptr<ByteSource> packed_;
  std::array<char, 1 << 16> input_;
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool packed_ended_ = false;
  bool at_end_ = false;
};

StatusOr<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    const std::string message = path + ": cannot be opened for reading: " + std::strerror(errno);
    return errno == ENOENT ? base::NotFoundError(message) : base::InternalError(message);
  }
  auto plain = std::make_unique<PlainSource>(path, file);
  if (!path.ends_with(".xz") && !plain->StartsWith(kXzMagic)) {
    return std::unique_ptr<ByteSource>(std::move(plain));
  }
  auto xz = std::make_unique<XzSource>(path, std::move(plain));
  SUBMIX_RETURN_IF_ERROR(xz->Start());
  return std::unique_ptr<ByteSource>(std::move(xz));
}

// --- Lines and records

// Puts lines together from pieces and hands them on.
class LineSplitter {
 public:
  explicit LineSplitter(const LineSink& sink) : sink_(sink) {}

  Status Add(std::string_view piece) {
    for (;;) {
      const std::size_t end = piece.find('\n');
      if (end == std::string_view::npos) {
        unfinished_ += piece;
        return base::OkStatus();
      }
      if (unfinished_.empty()) {
        SUBMIX_RETURN_IF_ERROR(Emit(piece.substr(0, end)));
      } else {
        unfinished_ += piece.substr(0, end);
        SUBMIX_RETURN_IF_ERROR(Emit(unfinished_));
        unfinished_.clear();
      }
      piece.remove_prefix(end + 1);
    }
  }

  // The last line may lack its newline.
  Status Finish() { return unfinished_.empty() ? base::OkStatus() : Emit(unfinished_); }

 private:
  Status Emit(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (++line_number_ == 1 && line.starts_with(kByteOrderMark)) {
      line.remove_prefix(kByteOrderMark.size());
    }
    return sink_(line_number_, line);
  }

  const LineSink& sink_;
  std::string unfinished_;
  std::int64_t line_number_ = 0;
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
    const std::string place = "byte " + std::to_string(position) + " of the line";
    syntax_error_ = is_encoding ? place + " is not UTF-8: convert the file to UTF-8"
                                : "invalid JSON at " + place + ": expected one object such as " +
                                      std::string(kExample);
    return false;
  }

 private:
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
  SUBMIX_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(path));
  LineSplitter splitter(sink);
  std::vector<char> buffer(1 << 16);
  for (;;) {
    SUBMIX_ASSIGN_OR_RETURN(const std::size_t count, source->Read(buffer));
    if (count == 0) return splitter.Finish();
    SUBMIX_RETURN_IF_ERROR(splitter.Add({buffer.data(), count}));
  }
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

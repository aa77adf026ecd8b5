#include "submix/corpus/text_lines.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

struct PackedKind {
  std::string_view ending;
  std::string_view magic;
  std::size_t at = 0;  // where the magic bytes stand
};
constexpr std::array<std::string_view, 4> kUnpackedEndings = {".gz", ".xz", ".zst", ".bz2"};
// What people have text in and this does not read.
constexpr std::array<PackedKind, 9> kOtherKinds = {{{".zip", "PK\x03\x04"},
                                                    {".7z", "7z\xbc\xaf\x27\x1c"},
                                                    {".rar", "Rar!\x1a\x07"},
                                                    {".lz4", "\x04\x22\x4d\x18"},
                                                    {".lz", "LZIP"},
                                                    {".Z", "\x1f\x9d"},
                                                    {".tar", "ustar", 257},
                                                    {".parquet", "PAR1"},
                                                    {".arrow", "ARROW1"}}};

std::optional<std::string_view> OtherKind(std::string_view start) {
  for (const PackedKind& kind : kOtherKinds) {
    if (start.size() > kind.at && start.substr(kind.at).starts_with(kind.magic)) return kind.ending;
  }
  return std::nullopt;
}

// The bytes of a file, unpacked. zlib takes gzip off and passes other bytes through; libarchive, on
// top of it, knows the rest (it would take gzip's, too, but without looking at the checksum).
class UnpackedFile {
 public:
  explicit UnpackedFile(const std::string& path) : path_(path) {}

  Status Open() {
    const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      const std::string message = path_ + ": cannot be opened for reading: " + std::strerror(errno);
      return errno == ENOENT ? base::NotFoundError(message) : base::InternalError(message);
    }
    file_.reset(gzdopen(descriptor, "rb"));
    if (file_ == nullptr) ::close(descriptor);
    archive_.reset(archive_read_new());
    if (file_ == nullptr || archive_ == nullptr) return NoMemory();
    archive* const archive = archive_.get();
    archive_read_support_filter_xz(archive);
    archive_read_support_filter_zstd(archive);
    archive_read_support_filter_bzip2(archive);
    archive_read_support_format_raw(archive);
    archive_read_support_format_empty(archive);
    if (archive_read_open(archive, this, nullptr, &UnpackedFile::ReadPacked, nullptr) !=
        ARCHIVE_OK) {
      return Failure();
    }
    archive_entry* entry = nullptr;
    const int found = archive_read_next_header(archive, &entry);
    if (found != ARCHIVE_OK && found != ARCHIVE_EOF) return Failure();
    is_empty_ = found == ARCHIVE_EOF;
    const bool is_plain = gzdirect(file_.get()) != 0 && archive_filter_count(archive) <= 1;
    const std::size_t name = WithoutPackedEnding(path_).size();
    if (!is_plain || name == path_.size()) return base::OkStatus();
    return base::DataLossError(path_ + ": is not a " + path_.substr(name) +
                               " file, although its name says so, or it is cut short");
  }

  // The next bytes, valid until the next call; none at the end.
  StatusOr<std::string_view> Next() {
    if (is_empty_) return std::string_view();
    const void* bytes = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
    if (result == ARCHIVE_EOF) return std::string_view();
    if (result != ARCHIVE_OK) return Failure();
    return std::string_view(static_cast<const char*>(bytes), size);
  }

 private:
  static la_ssize_t ReadPacked(archive* archive, void* file, const void** bytes) {
    auto& self = *static_cast<UnpackedFile*>(file);
    *bytes = self.buffer_.data();
    const int count =
        gzread(self.file_.get(), self.buffer_.data(), static_cast<unsigned>(self.buffer_.size()));
    int error = Z_OK;
    gzerror(self.file_.get(), &error);
    if (count > 0 || (count == 0 && error == Z_OK)) return count;
    // libarchive does not give our error on.
    self.read_error_ = error == Z_ERRNO ? errno : 0;
    archive_set_error(archive, EIO, "cut short or damaged");
    return -1;
  }

  Status Failure() const {
    if (read_error_ != 0) {
      return base::InternalError(path_ + ": reading failed: " + std::strerror(read_error_));
    }
    if (archive_errno(archive_.get()) == ENOMEM) return NoMemory();
    return base::DataLossError(path_ + ": the packed file is cut short or damaged; copy it again");
  }
  Status NoMemory() const {
    return base::ResourceExhaustedError(path_ + ": not enough memory to unpack the file");
  }

  struct CloseFile {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  struct FreeArchive {
    void operator()(archive* archive) const { archive_read_free(archive); }
  };

  const std::string path_;
  std::unique_ptr<gzFile_s, CloseFile> file_;
  std::unique_ptr<archive, FreeArchive> archive_;  // after file_: reads from it
  std::array<char, 1 << 16> buffer_;
  int read_error_ = 0;  // of the operating system
  bool is_empty_ = false;
};

// Puts the lines together and hands them on.
class LineCollector {
 public:
  LineCollector(const std::string& path, const LineSink& sink) : path_(path), sink_(sink) {}

  Status Add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
      if (line_.size() + size > kMostLineBytes) {
        return base::InvalidArgumentError(
            path_ + ":" + std::to_string(number_ + 1) + ": the line is longer than " +
            std::to_string(kMostLineBytes >> 20) + " MiB: expected a record a line");
      }
      line_.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      if (line_.ends_with('\n')) SUBMIX_RETURN_IF_ERROR(EndLine());
    }
    return base::OkStatus();
  }

  Status Finish() { return line_.empty() ? base::OkStatus() : EndLine(); }

 private:
  Status EndLine() {
    std::string_view text = line_;
    if (++number_ == 1 && text.starts_with(kByteOrderMark)) {
      text.remove_prefix(kByteOrderMark.size());
    }
    if (!text.empty()) SUBMIX_RETURN_IF_ERROR(sink_(number_, text));
    line_.clear();
    return base::OkStatus();
  }

  const std::string& path_;
  const LineSink& sink_;
  std::string line_;
  std::int64_t number_ = 0;
};

}  // namespace

Status ReadLinesWithEnds(const std::string& path, const LineSink& sink) {
  UnpackedFile file(path);
  SUBMIX_RETURN_IF_ERROR(file.Open());
  LineCollector lines(path, sink);
  for (bool is_first = true;; is_first = false) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string_view bytes, file.Next());
    if (bytes.empty()) return lines.Finish();
    if (const auto kind = is_first ? OtherKind(bytes) : std::nullopt) {
      return base::InvalidArgumentError(path + ": is a " + std::string(*kind) +
                                        " file; read are plain text, .gz, .xz, .zst and .bz2");
    }
    SUBMIX_RETURN_IF_ERROR(lines.Add(bytes));
  }
}

Status ReadLines(const std::string& path, const LineSink& sink) {
  return ReadLinesWithEnds(path, [&](std::int64_t line, std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return sink(line, text);
  });
}

Status ReadDocuments(const std::string& path, const DocumentSink& sink) {
  std::string document;
  const auto finish_document = [&] {
    const std::string text = std::exchange(document, {});
    return text.empty() ? base::OkStatus() : sink(text);
  };
  SUBMIX_RETURN_IF_ERROR(ReadLines(path, [&](std::int64_t, std::string_view line) {
    if (line == kEndOfTextLine) return finish_document();
    document.append(line).push_back('\n');
    return base::OkStatus();
  }));
  return finish_document();
}

std::string_view WithoutPackedEnding(std::string_view path) {
  for (const std::string_view ending : kUnpackedEndings) {
    if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

}  // namespace submix::corpus

#include "submix/corpus/byte_source.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <lzma.h>

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

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

}  // namespace

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

}  // namespace submix::corpus

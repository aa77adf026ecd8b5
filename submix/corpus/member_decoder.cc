#include "submix/corpus/member_decoder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;

Status Damaged() { return base::DataLossError("the packed file is damaged; copy it again"); }

Status NoMemory() { return base::ResourceExhaustedError("not enough memory to unpack the file"); }

Status WindowTooLarge() {
  return base::InvalidArgumentError(
      "unpacking it takes a window of more than 2 GiB; unpack it, and pack it again (`zstd "
      "--long=31` at most)");
}

// How zlib, bzip2 and xz take bytes in and out: pointers and counts in one struct.
template <typename Count, typename Stream, typename Step>
auto Through(Stream& stream, std::string_view& packed, std::span<char>& room, const Step& step) {
  const auto count = [](std::size_t size) {
    return static_cast<Count>(std::min<std::size_t>(size, std::numeric_limits<Count>::max()));
  };
  using In = std::remove_reference_t<decltype(*stream.next_in)>;
  using Out = std::remove_reference_t<decltype(*stream.next_out)>;
  const Count in = count(packed.size());
  const Count out = count(room.size());
  stream.next_in = const_cast<In*>(reinterpret_cast<const In*>(packed.data()));
  stream.avail_in = in;
  stream.next_out = reinterpret_cast<Out*>(room.data());
  stream.avail_out = out;
  const auto result = step(&stream);
  packed.remove_prefix(in - stream.avail_in);
  room = room.subspan(out - stream.avail_out);
  return result;
}

class GzipDecoder final : public MemberDecoder {
 public:
  GzipDecoder() { is_ready_ = inflateInit2(&stream_, MAX_WBITS + kGzipAlone) == Z_OK; }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  StatusOr<bool> Decode(std::string_view& packed, std::span<char>& room) override {
    if (!is_ready_) return NoMemory();
    const int result = Through<uInt>(stream_, packed, room,
                                     [](z_stream* stream) { return inflate(stream, Z_NO_FLUSH); });
    if (result == Z_STREAM_END) return true;
    if (result == Z_OK || result == Z_BUF_ERROR) return false;
    return result == Z_MEM_ERROR ? NoMemory() : Damaged();
  }

 private:
  static constexpr int kGzipAlone = 16;  // of zlib's formats, with its checksum

  z_stream stream_{};
  bool is_ready_ = false;
};

class Bzip2Decoder final : public MemberDecoder {
 public:
  Bzip2Decoder() { is_ready_ = BZ2_bzDecompressInit(&stream_, 0, 0) == BZ_OK; }
  ~Bzip2Decoder() override { BZ2_bzDecompressEnd(&stream_); }

  StatusOr<bool> Decode(std::string_view& packed, std::span<char>& room) override {
    if (!is_ready_) return NoMemory();
    const int result = Through<unsigned>(stream_, packed, room, BZ2_bzDecompress);
    if (result == BZ_STREAM_END) return true;
    if (result == BZ_OK) return false;
    return result == BZ_MEM_ERROR ? NoMemory() : Damaged();
  }

 private:
  bz_stream stream_{};
  bool is_ready_ = false;
};

class XzDecoder final : public MemberDecoder {
 public:
  XzDecoder() {
    is_ready_ = lzma_stream_decoder(&stream_, kMostWindowBytes + kBesideWindow, 0) == LZMA_OK;
  }
  ~XzDecoder() override { lzma_end(&stream_); }

  StatusOr<bool> Decode(std::string_view& packed, std::span<char>& room) override {
    if (!is_ready_) return NoMemory();
    const lzma_ret result = Through<std::size_t>(
        stream_, packed, room, [](lzma_stream* stream) { return lzma_code(stream, LZMA_RUN); });
    if (result == LZMA_STREAM_END) return true;
    if (result == LZMA_OK || result == LZMA_BUF_ERROR) return false;
    if (result == LZMA_MEMLIMIT_ERROR) return WindowTooLarge();
    return result == LZMA_MEM_ERROR ? NoMemory() : Damaged();
  }

 private:
  static constexpr std::uint64_t kBesideWindow = std::uint64_t{64} << 20;

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_ready_ = false;
};

class ZstdDecoder final : public MemberDecoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    static_assert(kMostWindowBytes == std::size_t{1} << 31);
    is_ready_ = context_ != nullptr &&
                ZSTD_isError(ZSTD_DCtx_setParameter(context_, ZSTD_d_windowLogMax, 31)) == 0;
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  StatusOr<bool> Decode(std::string_view& packed, std::span<char>& room) override {
    if (!is_ready_) return NoMemory();
    ZSTD_inBuffer in = {packed.data(), packed.size(), 0};
    ZSTD_outBuffer out = {room.data(), room.size(), 0};
    const std::size_t result = ZSTD_decompressStream(context_, &out, &in);
    packed.remove_prefix(in.pos);
    room = room.subspan(out.pos);
    if (ZSTD_isError(result) == 0) return result == 0;
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_memory_allocation:
        return NoMemory();
      case ZSTD_error_frameParameter_windowTooLarge:
        return WindowTooLarge();
      case ZSTD_error_dictionary_wrong:
        return base::InvalidArgumentError(
            "packed with a dictionary of its own; unpack it, and pack it without");
      default:
        return Damaged();
    }
  }

 private:
  ZSTD_DCtx* context_;
  bool is_ready_ = false;
};

template <typename Decoder>
std::unique_ptr<MemberDecoder> Make() {
  return std::make_unique<Decoder>();
}

// "BZh9" may begin a sentence; a block's or the end's six bytes follow.
bool IsBzip2(std::string_view start) {
  return start.starts_with("BZh") && start.size() >= kMagicBytes && start[3] >= '1' &&
         start[3] <= '9' &&
         (start.substr(4).starts_with("1AY&SY") || start.substr(4).starts_with("\x17rE8P\x90"));
}

// Frames, and those that decoders skip and parallel writers begin with.
bool IsZstd(std::string_view start) {
  return start.starts_with("\x28\xb5\x2f\xfd") ||
         (start.size() >= 4 && (start[0] & 0xf0) == 0x50 && start.substr(1, 3) == "\x2a\x4d\x18");
}

constexpr std::array<PackedKind, 4> kKinds = {{
    {".gz", [](std::string_view start) { return start.starts_with("\x1f\x8b"); },
     &Make<GzipDecoder>},
    {".xz",
     [](std::string_view start) {
       return start.starts_with(
           std::string_view("\xfd"
                            "7zXZ\0",
                            6));
     },
     &Make<XzDecoder>},
    {".zst", &IsZstd, &Make<ZstdDecoder>},
    {".bz2", &IsBzip2, &Make<Bzip2Decoder>},
}};

}  // namespace

std::span<const PackedKind> PackedKinds() { return kKinds; }

}  // namespace submix::corpus

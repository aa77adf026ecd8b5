#include "submix/corpus/testing/packed.h"

#include <cstdint>

#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "submix/base/check.h"

namespace submix::corpus {
namespace {

std::size_t Gzip(std::string_view content, std::string& packed) {
  z_stream stream{};
  SUBMIX_CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                            Z_DEFAULT_STRATEGY) == Z_OK,
               "zlib must pack");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  SUBMIX_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib must pack");
  deflateEnd(&stream);
  return stream.total_out;
}

std::size_t Xz(std::string_view content, std::string& packed) {
  std::size_t size = 0;
  SUBMIX_CHECK(lzma_easy_buffer_encode(
                   LZMA_PRESET_DEFAULT, LZMA_CHECK_CRC64, nullptr,
                   reinterpret_cast<const std::uint8_t*>(content.data()), content.size(),
                   reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()) == LZMA_OK,
               "xz must pack");
  return size;
}

std::size_t Zstd(std::string_view content, int window_log, std::string& packed) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  ZSTD_inBuffer in = {content.data(), content.size(), 0};
  ZSTD_outBuffer out = {packed.data(), packed.size(), 0};
  // In two calls, so that the first does not know how much there is.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_flush);
  SUBMIX_CHECK(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0, "zstd must pack");
  ZSTD_freeCCtx(context);
  return out.pos;
}

std::size_t Bzip2(std::string_view content, std::string& packed) {
  auto size = static_cast<unsigned>(packed.size());
  SUBMIX_CHECK(BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(content.data()),
                                        static_cast<unsigned>(content.size()), 1, 0, 0) == BZ_OK,
               "bzip2 must pack");
  return size;
}

}  // namespace

std::string Packed(std::string_view content, std::string_view ending, int window_log) {
  std::string packed(content.size() + content.size() / 64 + (1 << 12), '\0');
  if (ending == ".gz") {
    packed.resize(Gzip(content, packed));
  } else if (ending == ".xz") {
    packed.resize(Xz(content, packed));
  } else if (ending == ".zst") {
    packed.resize(Zstd(content, window_log, packed));
  } else {
    SUBMIX_CHECK(ending == ".bz2", "a kind that is read");
    packed.resize(Bzip2(content, packed));
  }
  return packed;
}

}  // namespace submix::corpus

#include "submix/base/digest.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <sodium.h>

namespace submix::base {
namespace {

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

Sha256Digest Sha256(std::string_view bytes) {
  Sha256Digest digest;
  crypto_hash_sha256(digest.data(), Bytes(bytes), bytes.size());
  return digest;
}

StatusOr<Sha256Digest> Sha256OfFile(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       &std::fclose);
  if (file == nullptr) return NotFoundError(path + ": cannot be opened for reading");
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  std::vector<unsigned char> buffer(1 << 20);
  for (;;) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (count == 0) break;
    crypto_hash_sha256_update(&state, buffer.data(), count);
  }
  if (std::ferror(file.get()) != 0) return InternalError(path + ": reading failed");
  Sha256Digest digest;
  crypto_hash_sha256_final(&state, digest.data());
  return digest;
}

std::string ToHex(std::span<const std::uint8_t> bytes) {
  std::string hex(2 * bytes.size() + 1, '\0');  // libsodium writes a NUL at the end
  sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
  hex.pop_back();
  return hex;
}

StatusOr<Sha256Digest> Sha256FromHex(std::string_view hex) {
  Sha256Digest digest;
  if (hex.size() != 2 * digest.size()) {
    return InvalidArgumentError("expected 64 hexadecimal digits, found " +
                                std::to_string(hex.size()) + " characters");
  }
  if (hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return InvalidArgumentError("expected lower-case hexadecimal digits");
  }
  sodium_hex2bin(digest.data(), digest.size(), hex.data(), hex.size(), nullptr, nullptr, nullptr);
  return digest;
}

std::uint64_t KeyedHash(const HashKey& key, std::string_view bytes) {
  static_assert(std::tuple_size_v<HashKey> == crypto_auth_hmacsha256_KEYBYTES);
  std::array<unsigned char, crypto_auth_hmacsha256_BYTES> mac;
  crypto_auth_hmacsha256(mac.data(), Bytes(bytes), bytes.size(), key.data());
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = (value << 8) | mac[static_cast<std::size_t>(i)];
  return value;
}

}  // namespace submix::base

// SHA-256 and the keyed hash, over libsodium.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "submix/base/status.h"

namespace submix::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest Sha256(std::string_view bytes);
// SHA-256 of a file's content, read in pieces. Errors: kNotFound, kInternal on a failed read.
StatusOr<Sha256Digest> Sha256OfFile(const std::string& path);

// Lower-case hexadecimal, and back. FromHex: kInvalidArgument unless exactly 64 hex digits.
std::string ToHex(std::span<const std::uint8_t> bytes);
StatusOr<Sha256Digest> Sha256FromHex(std::string_view hex);

// A secret key for KeyedHash.
using HashKey = std::array<std::uint8_t, 32>;

// The first 64 bits of HMAC-SHA-256(key, bytes): pseudo-random for whoever does not hold the key.
std::uint64_t KeyedHash(const HashKey& key, std::string_view bytes);

}  // namespace submix::base

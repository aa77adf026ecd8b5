#include "submix/base/random.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include <sodium.h>

#include "submix/base/chacha_random_source.h"
#include "submix/base/check.h"
#include "submix/base/digest.h"

namespace submix::base {

std::uint64_t RandomSource::NextUint64() {
  std::uint64_t value = 0;
  Fill(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

std::uint64_t RandomSource::NextBelow(std::uint64_t bound) {
  SUBMIX_CHECK(bound > 0, "an empty range has no element");
  // The last 2^64 mod bound values would make some results more likely: drawn again.
  for (;;) {
    const std::uint64_t value = NextUint64();
    const std::uint64_t result = value % bound;
    if (value - result <= 0 - bound) return result;
  }
}

bool RandomSource::NextBernoulli(std::uint64_t numerator, std::uint64_t denominator) {
  SUBMIX_CHECK(numerator <= denominator, "a probability above 1");
  return NextBelow(denominator) < numerator;
}

void FillWithEntropy(std::span<std::byte> bytes) {
  SUBMIX_CHECK(sodium_init() >= 0, "libsodium found no entropy source");
  randombytes_buf(bytes.data(), bytes.size());
}

std::string RandomHex(std::size_t bytes) {
  std::vector<std::uint8_t> entropy(bytes);
  FillWithEntropy(std::as_writable_bytes(std::span(entropy)));
  return ToHex(entropy);
}

namespace {

class SystemRandomSource final : public RandomSource {
 public:
  SystemRandomSource() { SystemRandomSource::Rekey(); }

  void Fill(std::span<std::byte> bytes) override { stream_->Fill(bytes); }
  void Rekey() override {
    std::array<std::byte, ChaChaRandomSource::kKeyBytes> key;
    FillWithEntropy(key);
    stream_.emplace(key);
    sodium_memzero(key.data(), key.size());
  }

 private:
  std::optional<ChaChaRandomSource> stream_;
};

}  // namespace

std::unique_ptr<RandomSource> MakeSystemRandomSource() {
  return std::make_unique<SystemRandomSource>();
}

ChaChaRandomSource::ChaChaRandomSource(std::span<const std::byte, kKeyBytes> key) {
  static_assert(kKeyBytes == crypto_stream_chacha20_KEYBYTES);
  SUBMIX_CHECK(sodium_init() >= 0, "libsodium found no entropy source");
  std::memcpy(key_.data(), key.data(), kKeyBytes);
}

ChaChaRandomSource::~ChaChaRandomSource() {
  sodium_memzero(key_.data(), key_.size());
  sodium_memzero(block_.data(), block_.size());
}

void ChaChaRandomSource::Fill(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (used_ == kBlockBytes) Refill();
    const std::size_t count = std::min(bytes.size(), kBlockBytes - used_);
    std::memcpy(bytes.data(), block_.data() + used_, count);
    used_ += count;
    bytes = bytes.subspan(count);
  }
}

void ChaChaRandomSource::Refill() {
  unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
  std::memcpy(nonce, &counter_, sizeof counter_);
  ++counter_;
  const int result =
      crypto_stream_chacha20(reinterpret_cast<unsigned char*>(block_.data()), kBlockBytes, nonce,
                             reinterpret_cast<const unsigned char*>(key_.data()));
  SUBMIX_CHECK(result == 0, "ChaCha20 cannot fail on a block of fixed size");
  used_ = 0;
}

}  // namespace submix::base

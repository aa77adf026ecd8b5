// A ChaCha20 stream under a given key. Products key it with entropy (MakeSystemRandomSource);
// simulations (base/repeatable_random.h) and tests (base/testing/seeded_random.h) with a seed.
// Nothing else constructs one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "submix/base/random.h"

namespace submix::base {

// One thread at a time. Not copyable: a copied stream would repeat its draws.
class ChaChaRandomSource final : public RandomSource {
 public:
  static constexpr std::size_t kKeyBytes = 32;

  explicit ChaChaRandomSource(std::span<const std::byte, kKeyBytes> key);
  ChaChaRandomSource(const ChaChaRandomSource&) = delete;
  ChaChaRandomSource& operator=(const ChaChaRandomSource&) = delete;
  ~ChaChaRandomSource() override;

  void Fill(std::span<std::byte> bytes) override;

 private:
  static constexpr std::size_t kBlockBytes = 512;

  void Refill();

  std::array<std::byte, kKeyBytes> key_;
  std::array<std::byte, kBlockBytes> block_;
  std::size_t used_ = kBlockBytes;
  std::uint64_t counter_ = 0;  // one 512-byte stretch of the stream each; never wraps in practice
};

}  // namespace submix::base

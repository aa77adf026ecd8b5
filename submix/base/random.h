// Randomness as an argument. Everything private draws from a RandomSource that the caller passes,
// so that tests can seed it and products cannot forget which generator they use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace submix::base {

// A stream of uniform random bytes. One thread at a time.
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  // Fills `bytes` with uniform random bytes. Cannot fail: a source that has no entropy must not
  // exist.
  virtual void Fill(std::span<std::byte> bytes) = 0;
  // From here on a copy of this process, a fork's, draws other numbers. A source with a given key
  // goes on with its stream.
  virtual void Rekey() {}

  // Uniform on {0 .. 2^64 - 1}.
  std::uint64_t NextUint64();

  // The following are virtual for tests that enumerate every draw.

  // Uniform on {0 .. bound - 1} by rejection: exactly uniform, no modulo bias. Requires: bound > 0.
  virtual std::uint64_t NextBelow(std::uint64_t bound);
  // True with probability numerator / denominator exactly. Requires: numerator <= denominator > 0.
  virtual bool NextBernoulli(std::uint64_t numerator, std::uint64_t denominator);
};

// The CSPRNG of products: ChaCha20 keyed by the operating system's entropy (libsodium), anew at
// every Rekey.
std::unique_ptr<RandomSource> MakeSystemRandomSource();

// Overwrites `bytes` with entropy from the operating system: for keys.
void FillWithEntropy(std::span<std::byte> bytes);
// So many bytes of it, in hexadecimal: for names that nobody can guess.
std::string RandomHex(std::size_t bytes);

}  // namespace submix::base

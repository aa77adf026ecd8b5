// Randomness that can be drawn again, for simulations: whoever knows the key knows every draw, so
// nothing that leaves to clients may come from it. The layering check keeps it in eval.
#pragma once

#include <memory>
#include <span>

#include "submix/base/chacha_random_source.h"
#include "submix/base/digest.h"
#include "submix/base/random.h"

namespace submix::base {

// The ChaCha20 stream under this key.
inline std::unique_ptr<RandomSource> MakeRepeatableRandomSource(const Sha256Digest& key) {
  static_assert(sizeof key == ChaChaRandomSource::kKeyBytes);
  return std::make_unique<ChaChaRandomSource>(std::as_bytes(std::span(key)));
}

}  // namespace submix::base

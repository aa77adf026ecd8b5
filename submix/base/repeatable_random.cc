#include "submix/base/repeatable_random.h"

#include <span>

#include "submix/base/chacha_random_source.h"

namespace submix::base {

std::unique_ptr<RandomSource> MakeRepeatableRandomSource(const Sha256Digest& key) {
  static_assert(sizeof key == ChaChaRandomSource::kKeyBytes);
  return std::make_unique<ChaChaRandomSource>(std::as_bytes(std::span(key)));
}

}  // namespace submix::base

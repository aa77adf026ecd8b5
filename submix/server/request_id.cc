#include "submix/server/request_id.h"

#include <array>
#include <cstdint>
#include <span>

#include "submix/base/digest.h"
#include "submix/base/random.h"

namespace submix::server {

std::string RandomId() {
  std::array<std::uint8_t, 12> bytes{};
  base::FillWithEntropy(std::as_writable_bytes(std::span(bytes)));
  return base::ToHex(bytes);
}

}  // namespace submix::server

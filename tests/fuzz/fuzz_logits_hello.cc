#include "submix/base/check.h"
#include "submix/external/protocol.h"
#include "tests/fuzz/fuzz_targets.h"

namespace submix::fuzz {

void FuzzLogitsHello(std::string_view input) {
  const auto hello = external::ParseHello(input, "socket");
  if (!hello.ok()) return;
  SUBMIX_CHECK(hello->rows >= 1 && hello->vocabulary >= 1 && hello->context >= 1, "sizes in range");
}

}  // namespace submix::fuzz

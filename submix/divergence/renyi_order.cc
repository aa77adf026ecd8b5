#include "submix/divergence/renyi_order.h"

#include <charconv>
#include <system_error>

#include "submix/base/number_text.h"

namespace submix::divergence {

base::StatusOr<RenyiOrder> RenyiOrder::Create(double value) {
  if (!(value > 0)) {
    return base::InvalidArgumentError("Renyi order: expected a number above 0 or inf, found " +
                                      base::NumberText(value));
  }
  return RenyiOrder(value);
}

base::StatusOr<RenyiOrder> RenyiOrder::Parse(std::string_view text) {
  if (text == "inf" || text == "infinity") return Infinity();
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_to, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || parsed_to != end) {
    return base::InvalidArgumentError("Renyi order: expected a number such as 2 or 1.5, or inf; " +
                                      std::string("found \"") + std::string(text) + "\"");
  }
  return Create(value);
}

std::string RenyiOrder::ToString() const {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value_);
  return std::string(buffer, end);
}

}  // namespace submix::divergence

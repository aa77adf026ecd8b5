#include "submix/jinja/rendering.h"

#include <algorithm>

namespace submix::jinja {

Value Rendering::Fail(base::StatusCode code, std::string message) {
  if (failed()) return {};
  // What the template itself refuses is said in its own words alone.
  if (code != base::StatusCode::kInvalidArgument) {
    message = "line " + std::to_string(line_) + ": " + message;
  }
  status_ = base::Status(code, std::move(message));
  return {};
}

void Rendering::Charge(std::size_t work) {
  work_ += std::min(work, kMostWork + 1);
  if (work_ <= kMostWork) return;
  work_ = kMostWork;
  Fail(base::StatusCode::kResourceExhausted, "this is too much work for a chat template");
}

std::optional<Value> Arguments::Take(std::string_view name) {
  if (next_ < positional_.size()) return positional_[next_++];
  const auto found = std::ranges::find(named_, name, [](const auto& each) { return each.first; });
  if (found == named_.end()) return std::nullopt;
  const Value value = found->second;
  named_.erase(found);
  return value;
}

ValueList Arguments::TakePositional() {
  ValueList rest(positional_.begin() + static_cast<std::ptrdiff_t>(next_), positional_.end());
  next_ = positional_.size();
  return rest;
}

}  // namespace submix::jinja

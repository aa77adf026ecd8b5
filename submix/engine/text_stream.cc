#include "submix/engine/text_stream.h"

#include <algorithm>

namespace submix::engine {
namespace {

// Length of the longest suffix of `text` that is a proper prefix of `stop`.
std::size_t PartialStop(std::string_view text, std::string_view stop) {
  std::size_t length = std::min(text.size(), stop.size() - 1);
  while (length > 0 && !text.ends_with(stop.substr(0, length))) --length;
  return length;
}

// Number of bytes at the end that begin a UTF-8 character and do not complete it.
std::size_t UnfinishedCharacter(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) return 0;
    if (byte >= 0xC0) {
      const std::size_t needed = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      return needed > back ? back : 0;
    }
  }
  return 0;
}

}  // namespace

std::string TextStream::Add(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  std::size_t first_stop = std::string::npos;
  std::size_t hold = UnfinishedCharacter(held_);
  for (const std::string& stop : stop_) {
    first_stop = std::min(first_stop, held_.find(stop));
    hold = std::max(hold, PartialStop(held_, stop));
  }
  if (first_stop != std::string::npos) {
    stopped_ = true;
    held_.resize(first_stop);
    return Flush();
  }
  std::string certain = held_.substr(0, held_.size() - hold);
  held_.erase(0, certain.size());
  return certain;
}

std::string TextStream::Flush() {
  std::string rest;
  rest.swap(held_);
  return rest;
}

}  // namespace submix::engine

// An answer as bytes of HTTP/1.1.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "submix/server/listener.h"

namespace submix::server {

enum class BodyFraming { kLength, kChunks, kUntilClose };

// Status line and headers, with the empty line. `idle`: how long the connection is kept for another
// request; 0: it ends.
std::string HeadText(const HttpResponse& response, BodyFraming framing,
                     std::chrono::milliseconds idle);
// One chunk of a body, not empty.
std::string ChunkText(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace submix::server

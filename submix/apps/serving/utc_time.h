// How both logs and lists write times.
#pragma once

#include <ctime>
#include <string>

namespace submix::apps {

// RFC 3339 in UTC to the second, from seconds since 1970: "2026-01-31T09:30:00Z". Thread-safe.
std::string UtcTime(std::time_t seconds);

}  // namespace submix::apps

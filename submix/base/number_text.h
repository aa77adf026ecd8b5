// Numbers and times as people and files read them.
#pragma once

#include <cstdio>
#include <ctime>
#include <string>

namespace submix::base {

// At most so many significant digits, without trailing zeros: 0.1, 1e-05, inf. 17 give every double
// back.
inline std::string NumberText(double value, int digits = 6) {
  char text[40];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.*g", digits, value))};
}

// RFC 3339 in UTC to the second, from seconds since 1970: "2026-01-31T09:30:00Z". Thread-safe.
inline std::string UtcTime(std::time_t seconds) {
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace submix::base

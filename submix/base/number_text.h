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

// Of seconds since 1970, in UTC: RFC 3339 to the second, "2026-01-31T09:30:00Z", or as strftime's
// `format` says, whose names of days and months are the process's locale's: English, since nothing
// of ours sets another. Thread-safe.
inline std::string UtcTime(std::time_t seconds, const char* format = "%Y-%m-%dT%H:%M:%SZ") {
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &parts)};
}

}  // namespace submix::base

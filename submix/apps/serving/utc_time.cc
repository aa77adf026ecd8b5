#include "submix/apps/serving/utc_time.h"

namespace submix::apps {

std::string UtcTime(std::time_t seconds) {
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace submix::apps

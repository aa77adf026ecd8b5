#include "submix/base/log.h"

#include <utility>

namespace submix::base {
namespace {

LogSink& InstalledSink() {
  static LogSink* const sink = new LogSink;
  return *sink;
}

}  // namespace

void SetLogSink(LogSink sink) { InstalledSink() = std::move(sink); }

void Log(LogSeverity severity, std::string_view line) {
  if (const LogSink& sink = InstalledSink(); sink) sink(severity, line);
}

}  // namespace submix::base

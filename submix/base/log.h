// The log sink. Libraries never print: they say a line to the sink that the program installed.
// A line never holds private text, nor a number that depends on private data (contract 7).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace submix::base {

enum class LogSeverity { kInfo, kWarning, kError };

using LogSink = std::function<void(LogSeverity, std::string_view line)>;

// Never destroyed: whoever logs at the end still finds it.
inline LogSink& InstalledSink() {
  static LogSink* const sink = new LogSink;
  return *sink;
}

// Replaces the sink (default: none, lines are dropped). Call at start-up, before threads exist.
inline void SetLogSink(LogSink sink) { InstalledSink() = std::move(sink); }

// Says `line` to the sink. Thread-safe if the sink is.
inline void Log(LogSeverity severity, std::string_view line) {
  if (const LogSink& sink = InstalledSink(); sink) sink(severity, line);
}

}  // namespace submix::base

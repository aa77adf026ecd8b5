// The log sink. Libraries never print: they say a line to the sink that the program installed.
// A line never holds private text, nor a number that depends on private data (contract 7).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace submix::base {

enum class LogSeverity { kInfo, kWarning, kError };

using LogSink = std::function<void(LogSeverity, std::string_view line)>;

// Replaces the sink (default: none, lines are dropped). Call at start-up, before threads exist.
void SetLogSink(LogSink sink);

// Says `line` to the sink. Thread-safe if the sink is.
void Log(LogSeverity severity, std::string_view line);

}  // namespace submix::base

// Writes the lines of a log to a descriptor without holding up whoever says them: its reader may be
// slow, stalled or gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace submix::base {

// Thread-safe. Never destroyed: its thread may wait for the reader for ever, so nobody waits for
// it.
class LogWriter {
 public:
  // Makes the line that says how many were dropped.
  using DroppedLine = std::function<std::string(std::int64_t lines)>;

  // Starts the thread, with the signals blocked that the caller has blocked. At most `most_bytes`
  // wait for it. The process must ignore SIGPIPE.
  static LogWriter& Start(int descriptor, std::size_t most_bytes, DroppedLine dropped_line);

  // Takes a line with its line feed, or drops it where there is no room, and counts it. Does not
  // wait for the reader.
  void Write(std::string_view line);
  // Waits until all is written, but no longer than `patience`. False: not all is.
  bool Flush(std::chrono::milliseconds patience);

 private:
  LogWriter(int descriptor, std::size_t most_bytes, DroppedLine dropped_line);

  void Run();
  // Returns how many lines did not get out.
  std::int64_t WriteOut(std::string_view lines) const;

  const int descriptor_;
  const std::size_t most_bytes_;
  const DroppedLine dropped_line_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::string waiting_;
  std::int64_t dropped_ = 0;  // that nobody was told of
  bool is_writing_ = false;
};

}  // namespace submix::base

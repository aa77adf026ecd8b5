// Progress of long work on stderr: a bar with rate and ETA on a terminal, which is asked for its
// width; a plain line twice a minute elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace submix::base {

// Where a ProgressBar draws; programs choose once.
enum class ProgressStyle { kBar, kLines, kSilent };

// kBar if stderr is a terminal that can go back in a line, else kLines.
ProgressStyle DetectProgressStyle();

// What a line of progress says.
struct ProgressState {
  std::string title = "";
  std::string unit = "";  // of what is counted, such as "tokens"
  std::string note = "";
  std::int64_t total = 0;    // 0: unknown
  std::int64_t skipped = 0;  // of `done`: left out of the rate
  std::int64_t done = 0;
  double seconds = 0;  // since the start
  bool is_final = false;
};

// One line without an end, of at most `width` characters: what finds no room is the note, then
// cells of the bar, then letters of the title.
std::string BarLine(const ProgressState& state, std::size_t width);

// One piece of long work. One thread at a time.
class ProgressBar {
 public:
  // `unit` is what is counted, such as "tokens". Requires: total >= 0; 0 means unknown.
  ProgressBar(std::string title, std::int64_t total, std::string unit,
              ProgressStyle style = DetectProgressStyle());
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Work that an earlier run did: shown as done, left out of the rate.
  void SkipTo(std::int64_t done);
  // More of it, found later: the clock goes on.
  void Skip(std::int64_t count);
  void Advance(std::int64_t count, const std::string& note = "");
  // Draws the last state and ends the line; nothing if no work of a known total was done. Called by
  // the destructor if nobody did.
  void Finish();

 private:
  void Draw(bool is_final);

  ProgressState state_;
  const ProgressStyle style_;
  bool finished_ = false;
  bool was_drawn_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_draw_;
};

}  // namespace submix::base

// Progress of long work on stderr: a bar with rate and ETA on a terminal, a plain line every few
// seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace submix::base {

// Where a ProgressBar draws; programs choose once.
enum class ProgressStyle { kBar, kLines, kSilent };

// kBar if stderr is a terminal, else kLines.
ProgressStyle DetectProgressStyle();

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
  void Advance(std::int64_t count, const std::string& note = "");
  // Draws the last state and ends the line. Called by the destructor if nobody did.
  void Finish();

 private:
  void Draw(bool final);

  const std::string title_;
  const std::int64_t total_;
  const std::string unit_;
  const ProgressStyle style_;
  std::string note_;
  std::int64_t skipped_ = 0;
  std::int64_t done_ = 0;
  bool finished_ = false;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_draw_;
};

}  // namespace submix::base

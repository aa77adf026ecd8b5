#include "submix/base/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace submix::base {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kBarCells = 24;

std::string Duration(double seconds) {
  char text[32];
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  }
  return text;
}

std::string Cells(double fraction) {
  const int full = static_cast<int>(fraction * kBarCells);
  std::string cells;
  for (int i = 0; i < kBarCells; ++i) cells += i < full ? "█" : "·";
  return cells;
}

}  // namespace

ProgressStyle DetectProgressStyle() {
  return ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

ProgressBar::ProgressBar(std::string title, std::int64_t total, std::string unit,
                         ProgressStyle style)
    : title_(std::move(title)),
      total_(total),
      unit_(std::move(unit)),
      style_(style),
      start_(Clock::now()),
      last_draw_(start_) {}

ProgressBar::~ProgressBar() { Finish(); }

void ProgressBar::SkipTo(std::int64_t done) {
  skipped_ = done;
  done_ = done;
  start_ = Clock::now();
}

void ProgressBar::Advance(std::int64_t count, const std::string& note) {
  done_ += count;
  if (!note.empty()) note_ = note;
  const auto interval =
      style_ == ProgressStyle::kBar ? std::chrono::milliseconds(100) : std::chrono::seconds(5);
  if (Clock::now() - last_draw_ >= interval) Draw(/*final=*/false);
}

void ProgressBar::Finish() {
  if (finished_) return;
  finished_ = true;
  Draw(/*final=*/true);
}

void ProgressBar::Draw(bool final) {
  if (style_ == ProgressStyle::kSilent) return;
  last_draw_ = Clock::now();
  const double elapsed = std::chrono::duration<double>(last_draw_ - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done_ - skipped_) / elapsed : 0;
  char numbers[160];
  std::string cells;
  if (total_ > 0) {
    const double fraction = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    const std::string rest =
        final ? "in " + Duration(elapsed)
              : "ETA " + (rate > 0 ? Duration(static_cast<double>(total_ - done_) / rate)
                                   : std::string("-"));
    cells = " " + Cells(fraction);
    std::snprintf(numbers, sizeof numbers, "%3.0f %%  %.4g %s/s  %s", fraction * 100, rate,
                  unit_.c_str(), rest.c_str());
  } else {
    std::snprintf(numbers, sizeof numbers, "%lld %s  %.4g %s/s  %s", static_cast<long long>(done_),
                  unit_.c_str(), rate, unit_.c_str(), Duration(elapsed).c_str());
  }
  if (style_ == ProgressStyle::kBar) {
    std::fprintf(stderr, "\r%-28s%s %s  %s\033[K%s", title_.c_str(), cells.c_str(), numbers,
                 note_.c_str(), final ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s: %s  %s\n", title_.c_str(), numbers, note_.c_str());
  }
}

}  // namespace submix::base

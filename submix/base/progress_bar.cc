#include "submix/base/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include "submix/base/text_table.h"

namespace submix::base {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBarCells = 24;
constexpr std::size_t kTitleWidth = 28;
constexpr auto kBetweenRedraws = std::chrono::milliseconds(250);
constexpr auto kBetweenLines = std::chrono::seconds(30);

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

std::string Cells(double fraction, std::size_t count) {
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(count));
  std::string cells;
  for (std::size_t i = 0; i < count; ++i) cells += i < full ? "█" : "·";
  return cells;
}

double Fraction(const ProgressState& state) {
  return std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
}

std::string Numbers(const ProgressState& state) {
  const double rate =
      state.seconds > 0 ? static_cast<double>(state.done - state.skipped) / state.seconds : 0;
  char text[160];
  if (state.total == 0) {
    std::snprintf(text, sizeof text, "%lld %s  %.4g %s/s  %s", static_cast<long long>(state.done),
                  state.unit.c_str(), rate, state.unit.c_str(), Duration(state.seconds).c_str());
    return text;
  }
  const auto left = static_cast<double>(state.total - state.done);
  const std::string rest = state.is_final ? "in " + Duration(state.seconds)
                                          : "ETA " + (rate > 0 ? Duration(left / rate) : "-");
  std::snprintf(text, sizeof text, "%3.0f %%  %.4g %s/s  %s", Fraction(state) * 100, rate,
                state.unit.c_str(), rest.c_str());
  return text;
}

// What the terminal says; a usual one's where it says nothing.
std::size_t TerminalWidth() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kTerminalWidth;
}

}  // namespace

ProgressStyle DetectProgressStyle() {
  const char* const terminal = std::getenv("TERM");
  const bool is_dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return ::isatty(STDERR_FILENO) == 1 && !is_dumb ? ProgressStyle::kBar : ProgressStyle::kLines;
}

std::string BarLine(const ProgressState& state, std::size_t width) {
  const std::string numbers = Numbers(state).substr(0, width);
  std::size_t room = width - numbers.size();  // for a title, a bar and a note, a space beside each
  const bool has_bar = state.total > 0 && room > 2;
  const std::size_t title_most = room > 1 ? room - 1 : 0;
  std::string title = state.title.substr(0, title_most);
  room -= title.empty() ? 0 : title.size() + 1;
  const std::size_t cells = has_bar && room > 1 ? std::min(kBarCells, room - 1) : 0;
  room -= cells > 0 ? cells + 1 : 0;
  const bool has_note = !state.note.empty() && room >= state.note.size() + 2;
  room -= has_note ? state.note.size() + 2 : 0;
  if (!title.empty() && title.size() < kTitleWidth) {
    title.append(std::min(room, kTitleWidth - title.size()), ' ');
  }
  std::string line = title + (title.empty() ? "" : " ");
  if (cells > 0) line += Cells(Fraction(state), cells) + ' ';
  return line + numbers + (has_note ? "  " + state.note : "");
}

ProgressBar::ProgressBar(std::string title, std::int64_t total, std::string unit,
                         ProgressStyle style)
    : state_{.title = std::move(title), .unit = std::move(unit), .total = total},
      style_(style),
      start_(Clock::now()),
      last_draw_(start_) {}

ProgressBar::~ProgressBar() { Finish(); }

void ProgressBar::SkipTo(std::int64_t done) {
  state_.skipped = done;
  state_.done = done;
  start_ = Clock::now();
}

void ProgressBar::Skip(std::int64_t count) {
  state_.skipped += count;
  state_.done += count;
}

void ProgressBar::Advance(std::int64_t count, const std::string& note) {
  state_.done += count;
  if (!note.empty()) state_.note = note;
  const Clock::duration interval =
      style_ == ProgressStyle::kBar ? Clock::duration(kBetweenRedraws) : kBetweenLines;
  if (Clock::now() - last_draw_ >= interval) Draw(/*is_final=*/false);
}

void ProgressBar::Finish() {
  if (finished_) return;
  finished_ = true;
  const bool has_done_nothing = state_.total > 0 && state_.done == state_.skipped;
  if (was_drawn_ || !has_done_nothing) Draw(/*is_final=*/true);
}

void ProgressBar::Draw(bool is_final) {
  if (style_ == ProgressStyle::kSilent) return;
  was_drawn_ = true;
  last_draw_ = Clock::now();
  state_.seconds = std::chrono::duration<double>(last_draw_ - start_).count();
  state_.is_final = is_final;
  if (style_ == ProgressStyle::kBar) {
    // The last column stays free: there, terminals differ in what "to the line's end" erases.
    const std::string line = BarLine(state_, TerminalWidth() - 1);
    std::fprintf(stderr, "\r%s\033[K%s", line.c_str(), is_final ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s: %s  %s\n", state_.title.c_str(), Numbers(state_).c_str(),
                 state_.note.c_str());
  }
}

}  // namespace submix::base

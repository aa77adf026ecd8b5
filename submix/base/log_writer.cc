#include "submix/base/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace submix::base {

LogWriter& LogWriter::Start(int descriptor, std::size_t most_bytes, DroppedLine dropped_line) {
  auto* const writer = new LogWriter(descriptor, most_bytes, std::move(dropped_line));
  std::thread([writer] { writer->Run(); }).detach();
  return *writer;
}

LogWriter::LogWriter(int descriptor, std::size_t most_bytes, DroppedLine dropped_line)
    : descriptor_(descriptor), most_bytes_(most_bytes), dropped_line_(std::move(dropped_line)) {}

void LogWriter::Write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + line.size() > most_bytes_) {
    ++dropped_;
    return;
  }
  waiting_ += line;
  changed_.notify_all();
}

bool LogWriter::Flush(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return waiting_.empty() && !is_writing_; });
}

void LogWriter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    const std::string lines = std::exchange(waiting_, {});
    const std::int64_t dropped = std::exchange(dropped_, 0);
    is_writing_ = true;
    lock.unlock();
    std::int64_t lost = WriteOut(lines);
    if (dropped > 0 && WriteOut(dropped_line_(dropped)) > 0) lost += dropped;
    lock.lock();
    dropped_ += lost;
    is_writing_ = false;
    changed_.notify_all();
  }
}

std::int64_t LogWriter::WriteOut(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t written = ::write(descriptor_, lines.data(), lines.size());
    if (written >= 0) {
      lines.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // whoever shares the descriptor may have made it non-blocking
      pollfd writable{descriptor_, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      break;
    }
  }
  return std::ranges::count(lines, '\n');
}

}  // namespace submix::base

// Requests that their clients sent before they had the answer to the one before wait in one line,
// of which a few come at a time: whoever sends thousands holds up nobody who asks once. For the
// listener alone.
#pragma once

#include <deque>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace submix::server {

// Thread-safe.
class PipelineTurns {
 public:
  explicit PipelineTurns(boost::asio::io_context& io) : io_(io) {}

  // Calls `turn`, which waits for nothing, after those that wait already, and after all else that
  // is ready by then.
  void Wait(std::function<void()> turn) {
    const std::lock_guard lock(mutex_);
    line_.push_back(std::move(turn));
    if (!std::exchange(is_posted_, true)) boost::asio::post(io_, [this] { Take(); });
  }

 private:
  static constexpr int kAtATime = 8;

  void Take() {
    std::vector<std::function<void()>> turns;
    bool has_more = false;
    {
      const std::lock_guard lock(mutex_);
      for (; !line_.empty() && std::ssize(turns) < kAtATime; line_.pop_front()) {
        turns.push_back(std::move(line_.front()));
      }
      has_more = is_posted_ = !line_.empty();
    }
    for (const auto& turn : turns) turn();
    if (has_more) boost::asio::post(io_, [this] { Take(); });
  }

  boost::asio::io_context& io_;
  std::mutex mutex_;
  // Guarded by mutex_:
  std::deque<std::function<void()>> line_;
  bool is_posted_ = false;
};

}  // namespace submix::server

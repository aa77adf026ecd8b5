// Requests that their clients sent before they had the answer to the one before wait in two lines,
// that of the clients who have shown a key and that of the others, of each of which a few come at a
// time: whoever sends thousands holds up nobody who asks once. For the listener alone.
#pragma once

#include <deque>
#include <functional>
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

  // Calls `turn`, which waits for nothing, after those that wait already in its line, and after all
  // else that is ready by then.
  void Wait(bool has_key, std::function<void()> turn) {
    const std::lock_guard lock(mutex_);
    (has_key ? with_key_ : others_).push_back(std::move(turn));
    if (!std::exchange(is_posted_, true)) boost::asio::post(io_, [this] { Take(); });
  }

 private:
  using Line = std::deque<std::function<void()>>;
  static constexpr int kAtATime = 8;  // of each line

  void Take() {
    std::vector<std::function<void()>> turns;
    bool has_more = false;
    {
      const std::lock_guard lock(mutex_);
      for (Line* line : {&with_key_, &others_}) {
        for (int i = 0; i < kAtATime && !line->empty(); ++i, line->pop_front()) {
          turns.push_back(std::move(line->front()));
        }
      }
      has_more = is_posted_ = !with_key_.empty() || !others_.empty();
    }
    for (const auto& turn : turns) turn();
    if (has_more) boost::asio::post(io_, [this] { Take(); });
  }

  boost::asio::io_context& io_;
  std::mutex mutex_;
  // Guarded by mutex_:
  Line with_key_;
  Line others_;
  bool is_posted_ = false;
};

}  // namespace submix::server

// A connection to a Unix socket that bytes cross in time or not at all.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "submix/base/status.h"

namespace submix::external {

// One thread at a time. After an error of Send or Receive nothing can be said of what has crossed:
// it is to be destroyed.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  // Errors: kUnavailable if nobody listens; kInvalidArgument for a path that is too long for a
  // socket.
  static base::StatusOr<std::unique_ptr<Channel>> Connect(const std::string& socket);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // All of the bytes. Errors: kUnavailable if the other side has gone, or at the deadline.
  base::Status Send(std::span<const std::byte> bytes, Clock::time_point deadline);
  base::Status Receive(std::span<std::byte> bytes, Clock::time_point deadline);

  // Between messages: whether the other side is there and has said nothing unasked.
  bool is_quiet() const;

 private:
  Channel(int descriptor, std::string socket)
      : descriptor_(descriptor), socket_(std::move(socket)) {}
  // Until some bytes can cross. `events` as poll's.
  base::Status Await(short events, Clock::time_point deadline) const;
  base::Status Gone() const;

  const int descriptor_;
  const std::string socket_;
};

}  // namespace submix::external

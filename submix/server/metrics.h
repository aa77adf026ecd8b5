// /metrics: Prometheus' text exposition of public counts (contract 7).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "submix/engine/counters.h"

namespace submix::server {

// The content type of both texts.
inline constexpr std::string_view kMetricsType = "text/plain; version=0.0.4";

// Answers to completion requests, by status. Thread-safe.
class StatusCounts {
 public:
  static constexpr std::array kStatuses = {200, 400, 401, 404, 405, 408, 411, 413,
                                           415, 421, 429, 499, 500, 503, 504};

  // A status that is not listed counts as 500.
  void Add(int status);
  std::int64_t count(std::size_t index) const { return counts_[index].load(); }

 private:
  std::array<std::atomic<std::int64_t>, kStatuses.size()> counts_{};
};

std::string MetricsText(const engine::Counters& counters, const StatusCounts& answers);

// For the operator's listener: what took how long. A client can time its own tokens alone; this
// adds up everybody's, nearer to the processor than any client is, and time may depend on private
// data a little (docs/threat_model.md).
std::string OperatorMetricsText(const engine::Counters& counters);

}  // namespace submix::server

// One completion request, from its arrival to its last byte, for the operator's log.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "submix/server/listener.h"
#include "submix/server/openai_request.h"

namespace submix::server {

// No text, nothing private.
struct RequestRecord {
  std::string id;
  std::string endpoint;  // its path
  std::string key;       // id of the API key; empty if there is none
  int status = 500;      // of HTTP; 499: the client hung up; 500 until it is known
  bool streamed = false;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::chrono::milliseconds duration{0};
};

// One thread at a time.
class RequestVisit {
 public:
  // `at_end` is called with the record when this is destroyed.
  RequestVisit(const std::string& path, std::function<void(const RequestRecord&)> at_end);
  ~RequestVisit();
  RequestVisit(const RequestVisit&) = delete;
  RequestVisit& operator=(const RequestVisit&) = delete;

  // The answer to a request that fails, and its record.
  HttpResponse Fail(const ApiError& error);

  RequestRecord record;

 private:
  const std::function<void(const RequestRecord&)> at_end_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace submix::server

#include "submix/server/request_visit.h"

#include <utility>

#include "submix/base/random.h"
#include "submix/server/error_response.h"

namespace submix::server {

RequestVisit::RequestVisit(const std::string& path,
                           std::function<void(const RequestRecord&)> at_end)
    : at_end_(std::move(at_end)) {
  record.id = base::RandomHex(kIdBytes);
  record.endpoint = path;
}

RequestVisit::~RequestVisit() {
  record.duration = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start_);
  at_end_(record);
}

HttpResponse RequestVisit::Fail(const ApiError& error) {
  record.status = error.status;
  HttpResponse response = ErrorResponse(error);
  response.headers.emplace_back("x-request-id", record.id);
  return response;
}

}  // namespace submix::server

#include "submix/server/page_response.h"

#include <string>

namespace submix::server {

std::optional<HttpResponse> PageResponse(Page page, const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  const PageFile* file = FindPageFile(page, request.path);
  if (file == nullptr) return std::nullopt;
  HttpResponse response;
  response.content_type = file->content_type;
  response.body = file->bytes;
  response.headers = {{"Content-Security-Policy", std::string(PagePolicy())},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

}  // namespace submix::server

#include "submix/server/page_files.h"

#include <algorithm>
#include <string>

namespace submix::server {
namespace {

// kPlaygroundFiles, kOperatorFiles, kPolicy: written by cmake/embed_page.cmake.
#include "submix/server/page_bytes.inc"

}  // namespace

std::span<const PageFile> PageFiles(Page page) {
  if (page == Page::kOperator) return kOperatorFiles;
  return kPlaygroundFiles;
}

const PageFile* FindPageFile(Page page, std::string_view path) {
  const auto files = PageFiles(page);
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

std::string_view PagePolicy() { return kPolicy; }

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

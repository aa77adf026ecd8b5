// The pages that a browser is shown, embedded from page/built: bytes, no files at run time. They
// hold nothing private; what the operator's page draws comes from GET /ledger, with the operator's
// key.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "submix/server/listener.h"

namespace submix::server {

enum class Page {
  kPlayground,  // of the public listener
  kOperator,    // of the operator's listener, and of no other
};

struct PageFile {
  std::string_view path;  // of the URL: "/", "/playground.js"
  std::string_view content_type;
  std::string_view bytes;
};

// All files of a page; what they refer to is among them. They live as long as the program.
std::span<const PageFile> PageFiles(Page page);
// The file at this path, or null.
const PageFile* FindPageFile(Page page, std::string_view path);

// The value of the Content-Security-Policy header that every one of them is sent with: nothing but
// the server's own origin, no inline script or style.
std::string_view PagePolicy();

// A page's file as an HTTP answer; nothing if the request is not for a file of this page. No key is
// asked for: it is the page that asks its user for one.
std::optional<HttpResponse> PageResponse(Page page, const HttpRequest& request);

}  // namespace submix::server

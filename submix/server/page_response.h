// A page's file as an HTTP answer, with the headers that a page is always sent with.
#pragma once

#include <optional>

#include "submix/server/listener.h"
#include "submix/server/page_files.h"

namespace submix::server {

// Nothing if the request is not for a file of this page. No key is asked for: it is the page that
// asks its user for one.
std::optional<HttpResponse> PageResponse(Page page, const HttpRequest& request);

}  // namespace submix::server

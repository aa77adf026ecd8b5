#include "submix/server/page_files.h"

#include <algorithm>

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

}  // namespace submix::server

// Packed files for tests of what unpacks them.
#pragma once

#include <string>
#include <string_view>

namespace submix::corpus {

// `content` as one member of the kind that `ending` names (".gz", ".xz", ".zst", ".bz2"), with a
// checksum. ".zst" alone has no size of its content; `window_log` is of ".zst" alone, 0: the
// default. Requires: one of these endings.
std::string Packed(std::string_view content, std::string_view ending, int window_log = 0);

}  // namespace submix::corpus

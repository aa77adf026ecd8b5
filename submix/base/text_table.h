// Text for terminals: words in lines, and small tables whose cells wrap.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace submix::base {

// A line of this width, indented a little, is still below 100.
inline constexpr std::size_t kTextWidth = 96;

// The words of `text`, which spaces separate, in lines of at most `width` bytes; a longer word has
// a line of its own. One empty line for no words.
std::vector<std::string> WrappedLines(std::string_view text, std::size_t width = kTextWidth);

// Rows of cells, set to the left, two spaces between columns. The first column is as wide as its
// widest cell; the others too, where the line allows, else they share what is left and their cells
// wrap. ASCII. Requires: rows of the same size.
std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    std::size_t width = kTextWidth);

}  // namespace submix::base

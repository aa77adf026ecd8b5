// Text for terminals: words in lines, and small tables whose cells wrap.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace submix::base {

// What commands print keeps within a terminal's usual width.
inline constexpr std::size_t kTerminalWidth = 80;

// With so many decimals: "0.10".
std::string FixedText(double value, int decimals);

// The words of `text`, which spaces separate, in lines of at most `width` bytes; a longer word has
// a line of its own. One empty line for no words.
std::vector<std::string> WrappedLines(std::string_view text, std::size_t width = kTerminalWidth);

// Rows of cells, set to the left, two spaces between columns. The first column is as wide as its
// widest cell; the others too, where the line allows, else they share what is left and their cells
// wrap. ASCII. Requires: rows of the same size.
std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    std::size_t width = kTerminalWidth);

// Rows of cells, the first of them headers, set to the right, two spaces before each column. Where
// a line is too short for them, the words of headers stand below each other, and no column is wider
// than half a line: longer cells wrap, and longer words are cut. Columns that are still too many go
// on below, as often as it takes: behind an empty line, each row's first cell, and its number where
// first cells are alike. Requires: rows of the same size.
std::vector<std::string> NumberLines(const std::vector<std::vector<std::string>>& rows,
                                     std::size_t width = kTerminalWidth);

}  // namespace submix::base

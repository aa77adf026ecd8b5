#include "submix/base/text_table.h"

#include <algorithm>
#include <numeric>

#include "submix/base/check.h"

namespace submix::base {
namespace {

constexpr std::size_t kGap = 2;

std::vector<std::size_t> WidestCells(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widest(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    SUBMIX_CHECK(row.size() == widest.size(), "a table's rows have the same number of cells");
    for (std::size_t c = 0; c < row.size(); ++c) widest[c] = std::max(widest[c], row[c].size());
  }
  return widest;
}

// The narrowest columns first: what one does not need is for the others.
std::vector<std::size_t> ColumnWidths(std::vector<std::size_t> widths, std::size_t width) {
  const std::size_t taken = widths.front() + kGap * (widths.size() - 1);
  std::size_t left = width > taken ? width - taken : 0;
  std::vector<std::size_t> columns(widths.size() - 1);
  std::iota(columns.begin(), columns.end(), std::size_t{1});
  std::stable_sort(columns.begin(), columns.end(),
                   [&](std::size_t a, std::size_t b) { return widths[a] < widths[b]; });
  std::size_t waiting = columns.size();
  for (const std::size_t column : columns) {
    widths[column] = std::min(widths[column], left / waiting--);
    left -= widths[column];
  }
  return widths;
}

void AddRow(const std::vector<std::string>& row, const std::vector<std::size_t>& widths,
            std::vector<std::string>& lines) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 0;
  for (std::size_t c = 0; c < row.size(); ++c) {
    cells.push_back(WrappedLines(row[c], widths[c]));
    height = std::max(height, cells.back().size());
  }
  for (std::size_t l = 0; l < height; ++l) {
    std::string line;
    for (std::size_t c = 0, start = 0; c < cells.size(); start += widths[c++] + kGap) {
      if (l >= cells[c].size() || cells[c][l].empty()) continue;
      line.resize(std::max(start, line.size()), ' ');
      line += cells[c][l];
    }
    lines.push_back(line);
  }
}

}  // namespace

std::vector<std::string> WrappedLines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (word.empty()) continue;
    std::string& line = lines.back();
    if (line.empty()) {
      line = word;
    } else if (line.size() + 1 + word.size() <= width) {
      line += ' ';
      line += word;
    } else {
      lines.emplace_back(word);
    }
  }
  return lines;
}

std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    std::size_t width) {
  std::vector<std::string> lines;
  if (rows.empty()) return lines;
  const std::vector<std::size_t> widths = ColumnWidths(WidestCells(rows), width);
  for (const std::vector<std::string>& row : rows) AddRow(row, widths, lines);
  return lines;
}

}  // namespace submix::base

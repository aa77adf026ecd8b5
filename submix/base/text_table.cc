#include "submix/base/text_table.h"

#include <algorithm>
#include <cstdio>
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

// A column of NumberLines: the lines of each row's cell.
struct NumberColumn {
  std::vector<std::vector<std::string>> cells = {};
  std::size_t width = 0;
};

NumberColumn Column(const std::vector<std::string>& texts, std::size_t most, bool stacks_header) {
  NumberColumn column;
  std::size_t widest = 0;
  for (std::size_t row = 1; row < texts.size(); ++row) widest = std::max(widest, texts[row].size());
  for (std::size_t row = 0; row < texts.size(); ++row) {
    const std::size_t room = row == 0 && stacks_header ? std::min(most, widest) : most;
    std::vector<std::string>& cell = column.cells.emplace_back();
    for (const std::string& line : WrappedLines(texts[row], room)) {
      for (std::size_t cut = 0; cut == 0 || cut < line.size(); cut += most) {
        cell.push_back(line.substr(cut, most));
        column.width = std::max(column.width, cell.back().size());
      }
    }
  }
  return column;
}

// Headers end on the line above the rows; other cells begin on their row's first line.
void AddNumbers(const std::vector<const NumberColumn*>& columns, std::vector<std::string>& lines) {
  for (std::size_t row = 0; row < columns.front()->cells.size(); ++row) {
    std::size_t height = 0;
    for (const NumberColumn* column : columns) height = std::max(height, column->cells[row].size());
    for (std::size_t l = 0; l < height; ++l) {
      std::string& line = lines.emplace_back();
      std::size_t end = 0;
      for (const NumberColumn* column : columns) {
        const std::vector<std::string>& cell = column->cells[row];
        const std::size_t above = row == 0 ? height - cell.size() : 0;
        end += kGap + column->width;
        if (l < above || l - above >= cell.size() || cell[l - above].empty()) continue;
        line.resize(std::max(line.size(), end - cell[l - above].size()), ' ');
        line += cell[l - above];
      }
    }
  }
}

std::size_t WidthOf(const std::vector<NumberColumn>& columns) {
  std::size_t width = 0;
  for (const NumberColumn& column : columns) width += kGap + column.width;
  return width;
}

}  // namespace

std::string FixedText(double value, int decimals) {
  char text[400];
  return {text,
          static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.*f", decimals, value))};
}

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

std::vector<std::string> NumberLines(const std::vector<std::vector<std::string>>& rows,
                                     std::size_t width) {
  std::vector<std::vector<std::string>> texts(rows.front().size());
  for (const std::vector<std::string>& row : rows) {
    SUBMIX_CHECK(row.size() == texts.size(), "a table's rows have the same number of cells");
    for (std::size_t c = 0; c < row.size(); ++c) texts[c].push_back(row[c]);
  }
  std::vector<NumberColumn> columns;
  for (const auto& column : texts) columns.push_back(Column(column, width, false));
  std::vector<std::string> lines;
  std::vector<const NumberColumn*> table;
  NumberColumn numbers = {{{"row"}}, 3};
  if (WidthOf(columns) > width) {
    columns.clear();
    for (const auto& column : texts) columns.push_back(Column(column, width / 2, true));
    for (std::size_t row = 1; row < rows.size(); ++row) {
      numbers.cells.push_back({std::to_string(row)});
    }
    std::ranges::sort(texts.front().begin() + 1, texts.front().end());
    const bool are_alike = std::ranges::adjacent_find(texts.front()) != texts.front().end();
    if (WidthOf(columns) > width && are_alike) table.push_back(&numbers);
  }
  const std::size_t kept = table.size() + 1;  // at the beginning of each table
  std::size_t taken = table.empty() ? 0 : kGap + numbers.width;
  for (const NumberColumn& column : columns) {
    if (table.size() > kept && taken + kGap + column.width > width) {
      AddNumbers(table, lines);
      lines.emplace_back();
      table.resize(kept);
      taken = kept * kGap + columns.front().width + (kept > 1 ? numbers.width : 0);
    }
    table.push_back(&column);
    taken += kGap + column.width;
  }
  AddNumbers(table, lines);
  return lines;
}

}  // namespace submix::base

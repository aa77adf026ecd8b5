// What is written to CSV files, as RFC 4180 has them but for the ends of lines, which are "\n".
#pragma once

#include <string>
#include <vector>

namespace submix::base {

// The fields with commas between, ended by "\n". A field that holds a comma, a quote or the end of
// a line stands in quotes, its own quotes doubled.
std::string CsvRow(const std::vector<std::string>& fields);

}  // namespace submix::base

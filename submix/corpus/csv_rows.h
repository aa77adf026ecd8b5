// Rows of a CSV file as RFC 4180 has them: quoted fields may hold commas, quotes ("") and line
// ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "submix/base/status.h"

namespace submix::corpus {

// Calls `sink` for every row, the header included; `line`, from 1, is where the row begins. Blank
// lines between rows are skipped. The file may be packed, as ReadLines has it. Errors: those of
// ReadLines; kInvalidArgument, naming file and line, for a quote where none may be, or one that is
// not closed; the sink's first error. No message quotes the file.
base::Status ReadCsvRows(
    const std::string& path,
    const std::function<base::Status(std::int64_t line, std::vector<std::string>& fields)>& sink);

}  // namespace submix::corpus

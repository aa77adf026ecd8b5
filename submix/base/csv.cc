#include "submix/base/csv.h"

namespace submix::base {

std::string CsvRow(const std::vector<std::string>& fields) {
  std::string row;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) row += ',';
    if (field.find_first_of(",\"\r\n") == std::string::npos) {
      row += field;
      continue;
    }
    row += '"';
    for (const char byte : field) row.append(byte == '"' ? 2 : 1, byte);
    row += '"';
  }
  return row + '\n';
}

}  // namespace submix::base

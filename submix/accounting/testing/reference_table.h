// The records of testdata/accounting/rdp.txt, which generate.py writes with 50 digits.
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "submix/divergence/renyi_order.h"

namespace submix::accounting {

// One line: the arguments as text, the value last but for what follows it.
struct ReferenceRecord {
  std::vector<std::string> fields;

  double number(std::size_t index) const { return std::atof(fields.at(index).c_str()); }
  divergence::RenyiOrder order(std::size_t index) const {
    return divergence::RenyiOrder::Parse(fields.at(index)).value();
  }
  std::string ToString() const {
    std::string text;
    for (const std::string& field : fields) text += field + " ";
    return text;
  }
};

inline std::vector<ReferenceRecord> ReferenceRecords(const std::string& name) {
  std::ifstream table(SUBMIX_TESTDATA_DIR "/accounting/rdp.txt");
  std::vector<ReferenceRecord> records;
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word != name) continue;
    ReferenceRecord record;
    while (words >> word) record.fields.push_back(word);
    records.push_back(record);
  }
  return records;
}

// Against every record of the name: `compute` gets the record, its value is fields[value_index].
template <typename Compute>
void ExpectReferences(const std::string& name, std::size_t num_records, std::size_t value_index,
                      double relative_error, const Compute& compute) {
  const std::vector<ReferenceRecord> records = ReferenceRecords(name);
  EXPECT_EQ(records.size(), num_records);
  for (const ReferenceRecord& record : records) {
    const double expected = record.number(value_index);
    EXPECT_NEAR(compute(record), expected, relative_error * expected)
        << name << " " << record.ToString();
  }
}

}  // namespace submix::accounting

#include "submix/base/csv.h"

#include <gtest/gtest.h>

namespace submix::base {
namespace csv_test {

TEST(CsvTest, PlainFieldsStandAsTheyAre) {
  EXPECT_EQ(CsvRow({"model", "", " 1.5 ", "it's; ε"}), "model,, 1.5 ,it's; ε\n");
  EXPECT_EQ(CsvRow({""}), "\n");
}

TEST(CsvTest, WhatWouldBeMisreadStandsInQuotes) {
  EXPECT_EQ(CsvRow({"(8, 1e-06)", "b"}), "\"(8, 1e-06)\",b\n");
  EXPECT_EQ(CsvRow({"say \"no\"", "\""}), "\"say \"\"no\"\"\",\"\"\"\"\n");
  EXPECT_EQ(CsvRow({"two\nlines", "carriage\rreturn"}), "\"two\nlines\",\"carriage\rreturn\"\n");
}

}  // namespace csv_test
}  // namespace submix::base

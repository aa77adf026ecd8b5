#include "submix/apps/report.h"

#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::apps {
namespace report_test {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

CommandReport Report(int columns) {
  CommandReport report;
  report.title =
      "What was found, in so many words that no terminal of eighty columns has a line for it";
  Json row = {{"model", "dclip, clipped"}, {"user_epsilon", 1.23451}};
  for (int c = 0; c < columns; ++c) row["column_number_" + std::to_string(c)] = 1000 + c;
  report.rows = {row, row};
  for (const char* name : {"part_epsilon", "user_epsilon", "votes_epsilon"}) {
    report.statements.emplace_back(
        name, accounting::ProvenStatement(accounting::PrivacyUnit::kPart,
                                          accounting::Adjacency::kNull, "a theorem"));
  }
  report.notes = {report.title, "a note"};
  return report;
}

TEST(CommandReportTest, NoLineIsWiderThanATerminal) {
  for (const int columns : {0, 3, 12, 40}) {
    std::istringstream lines(ReportText(Report(columns)));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(CommandReportTest, PeopleSeeEveryColumn) {
  const std::string text = ReportText(Report(40));
  for (int c = 0; c < 40; ++c) EXPECT_THAT(text, HasSubstr(' ' + std::to_string(1000 + c)));
}

TEST(CommandReportTest, CostsAreRoundedUpAndWhatIsNotFiniteIsADash) {
  const Json rows = {{{"name", "a"},
                      {"user_epsilon", 1.23451},
                      {"largest_rdp", 1.23456},
                      {"order", kInfinity},
                      {"share", 0.1},
                      {"each", {0.5, nullptr}}}};
  EXPECT_EQ(TableText(rows),
            "  name  user epsilon  largest rdp  order  share   each\n"
            "     a         1.235        1.234      -    0.1  0.5 -\n");
}

TEST(CommandReportTest, JsonHasRowsAndStatementsOnly) {
  CommandReport report = Report(0);
  report.rows.front()["user_epsilon"] = kInfinity;
  const Json json = Json::parse(ReportJson(report));
  EXPECT_EQ(json.size(), 2);
  EXPECT_TRUE(json["rows"][0]["user_epsilon"].is_null());
  EXPECT_EQ(json["rows"][1]["user_epsilon"], 1.23451);
  EXPECT_EQ(json["statements"].size(), 3);
  EXPECT_THAT(json["statements"]["user_epsilon"].get<std::string>(), HasSubstr("a theorem"));
}

TEST(CommandReportTest, CsvQuotesTextAndKeepsEveryDigit) {
  const Json rows = {{{"model", "a, \"b\""}, {"epsilon", 1.23451}, {"order", nullptr}},
                     {{"model", "c"}, {"epsilon", 2}, {"order", "inf"}}};
  EXPECT_EQ(TableCsv(rows), "model,epsilon,order\n\"a, \"\"b\"\"\",1.23451,\nc,2,inf\n");
}

}  // namespace report_test
}  // namespace submix::apps

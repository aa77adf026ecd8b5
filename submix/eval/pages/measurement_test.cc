#include "submix/eval/pages/measurement.h"

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::eval {
namespace measurement_test {

using base::StatusCode;
using base::StatusIs;
using testing::HasSubstr;

constexpr std::time_t kTime = 1'790'000'000;

class MeasurementTest : public testing::Test {
 protected:
  std::string Keep(const std::string& kind, std::time_t measured, const std::string& rows) {
    const auto measurement = MakeMeasurement({kind, "a title", measured, "ab"}, rows);
    SUBMIX_EXPECT_OK(measurement);
    const auto path = KeepMeasurement(*measurement, directory_.path());
    SUBMIX_EXPECT_OK(path);
    return base::BaseName(*path);
  }

  auto Load() { return LoadMeasurements(MeasurementsDirectory(directory_.path())); }

  void Write(const std::string& content) {
    const std::string directory = MeasurementsDirectory(directory_.path());
    SUBMIX_ASSERT_OK(base::MakeDirectories(directory));
    SUBMIX_ASSERT_OK(base::WriteFile(base::JoinPath(directory, "a.json"), content));
  }

  base::TemporaryDirectory directory_;
};

TEST_F(MeasurementTest, WithoutADirectoryNothingWasMeasured) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto measurements, Load());
  EXPECT_TRUE(measurements.empty());
}

TEST_F(MeasurementTest, AllAreKeptAndTheNewestIsFirst) {
  EXPECT_EQ(Keep("audit epsilon", kTime, R"([{"model": "dclip"}])"),
            "2026-09-21T141320Z-audit-epsilon.json");
  EXPECT_EQ(Keep("audit epsilon", kTime, R"([{"model": "again"}])"),
            "2026-09-21T141320Z-audit-epsilon-2.json");
  Keep("audit timing", kTime - 1, R"([{"first": "a"}, {"first": "b"}])");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto measurements, Load());
  ASSERT_EQ(measurements.size(), 3U);
  EXPECT_EQ(measurements[2].kind, "audit timing");
  EXPECT_EQ(measurements[2].measured, kTime - 1);
  EXPECT_EQ(measurements[2].title, "a title");
  EXPECT_EQ(measurements[2].ensemble, "ab");
  ASSERT_EQ(measurements[2].rows.size(), 2U);
  EXPECT_EQ(*measurements[2].rows[1].Text("first"), "b");
  std::vector<std::string> models;
  for (int i = 0; i < 2; ++i) models.push_back(*measurements[i].rows[0].Text("model"));
  EXPECT_THAT(models, testing::UnorderedElementsAre("dclip", "again"));
}

TEST_F(MeasurementTest, WhatIsNoListOfRowsIsRefused) {
  for (const char* rows : {"[]", "{}", "[1]", "not JSON"}) {
    EXPECT_THAT(MakeMeasurement({"evaluate", "", kTime, "ab"}, rows),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("evaluate")))
        << rows;
  }
}

TEST_F(MeasurementTest, DamagedFilesAreNamed) {
  for (
      const char* content :
      {"", "{}", R"({"format": 1, "kind": "evaluate", "title": "", "ensemble": "a", "rows": [{}]})",
       R"({"format": 1, "kind": 3, "measured": 1, "title": "", "ensemble": "a", "rows": [{}]})",
       R"({"format": 1, "kind": "evaluate", "measured": -1, "title": "", "ensemble": "a", "rows": [{}]})"}) {
    Write(content);
    EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("a.json"))) << content;
  }
}

TEST_F(MeasurementTest, ANewerFormatIsRefused) {
  Write(
      R"({"format": 2, "kind": "evaluate", "measured": 1, "title": "", "ensemble": "a", "rows": [{}]})");
  EXPECT_THAT(Load(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("a.json")));
}

}  // namespace measurement_test
}  // namespace submix::eval

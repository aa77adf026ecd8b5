#include "submix/eval/pages/figure.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::eval {
namespace figure_test {

using ::testing::HasSubstr;
using ::testing::Not;

Figure SmallFigure() {
  Figure figure{.name = "kept", .title = "It's \"kept\", \\n $HOME", .x_label = "answers"};
  figure.log_x = true;
  FigureCurve curve{.name = "filtered, by part", .guarantee = "sound"};
  curve.points = {{.x = 1, .y = 20}, {.x = 10, .y = 30.5, .low = 29, .high = 32}};
  curve.points.push_back({.x = 100, .y = std::numeric_limits<double>::infinity()});
  figure.curves.push_back(curve);
  figure.curves.push_back(
      {.name = "public", .guarantee = "none", .is_level = true, .points = {{.y = 40}}});
  return figure;
}

TEST(FigureTest, CsvQuotesAndLeavesOutWhatIsNotFinite) {
  EXPECT_EQ(FigureCsv(SmallFigure()),
            "curve,x,y,low,high,guarantee\n"
            "\"filtered, by part\",1,20,,,sound\n"
            "\"filtered, by part\",10,30.5,29,32,sound\n"
            "\"filtered, by part\",100,,,,sound\n"
            "public,,40,,,none\n");
}

TEST(FigureTest, TextIsNoProgramForGnuplot) {
  const std::string script = FigureScript(SmallFigure());
  EXPECT_THAT(script, HasSubstr("set title 'It''s \"kept\", \\n $HOME'\n"));
  EXPECT_THAT(script, HasSubstr("set logscale x"));
  EXPECT_THAT(script, Not(HasSubstr("set logscale y")));
}

TEST(FigureTest, TheLegendSaysWhatIsAboveTheFrame) {
  Figure figure = SmallFigure();
  EXPECT_THAT(FigureScript(figure), Not(HasSubstr("set yrange")));
  figure.top = 25;
  EXPECT_THAT(FigureScript(figure), HasSubstr("set yrange [:25]\n"));
  EXPECT_THAT(FigureScript(figure), HasSubstr("title 'filtered, by part'"));
  EXPECT_THAT(FigureScript(figure), HasSubstr("title 'public, above the frame'"));
  figure.top = 10;
  EXPECT_THAT(FigureScript(figure), HasSubstr("title 'filtered, by part, above the frame'"));
}

TEST(FigureTest, LevelsAreSeenBesideASinglePlace) {
  Figure figure = SmallFigure();
  EXPECT_THAT(FigureScript(figure), Not(HasSubstr("set xrange")));
  figure.curves[0].points = {{.x = 2, .y = 20}};
  EXPECT_THAT(FigureScript(figure), HasSubstr("set xrange [1:4]\nset xtics (2)\n"));
  figure.log_x = false;
  EXPECT_THAT(FigureScript(figure), HasSubstr("set xrange [1:3]\n"));
  figure.curves.erase(figure.curves.begin());
  EXPECT_THAT(FigureScript(figure), Not(HasSubstr("set xrange")));
}

TEST(FigureTest, IsDrawn) {
  const base::TemporaryDirectory directory;
  const base::Status status = WriteFigure(SmallFigure(), directory.path());
  const std::string path = directory.File("kept");
  EXPECT_TRUE(std::filesystem::exists(path + ".csv"));
  if (!status.ok()) {
    EXPECT_EQ(status.code(), base::StatusCode::kUnavailable) << status.message();
    EXPECT_TRUE(std::filesystem::exists(path + ".gnuplot"));
    EXPECT_FALSE(std::filesystem::exists(path + ".svg"));
    GTEST_SKIP() << status.message();
  }
  const auto svg = base::ReadFile(path + ".svg");
  ASSERT_TRUE(svg.ok());
  EXPECT_THAT(*svg, HasSubstr("</svg>"));
  EXPECT_THAT(*svg, HasSubstr("filtered, by part"));
  EXPECT_FALSE(std::filesystem::exists(path + ".gnuplot"));
}

}  // namespace figure_test
}  // namespace submix::eval

#include "submix/eval/figures/federated_sheet.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "submix/eval/figures/federated_report.h"
#include "submix/eval/figures/federated_tables.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr char kTable1[] = "dp-fedavg-table1";
constexpr char kTable2[] = "dp-fedavg-table2";
constexpr char kTable3[] = "dp-fedavg-table3";

// Every training of a figure, by the curve's name and its place on the axis.
std::vector<NamedTraining> TrainingsOf(const FederatedFigure& figure) {
  std::vector<NamedTraining> trainings;
  for (const FederatedCurve& curve : figure.curves) {
    for (const FederatedPoint& point : curve.points) {
      std::string name = curve.name;
      if (!figure.is_over_rounds) {
        name += (name.empty() ? "" : ", ") + figure.x_label + " " + ShortNumber(point.x);
      }
      trainings.push_back({name, point.setting});
    }
  }
  if (figure.level.has_value()) trainings.push_back({figure.level_name, *figure.level});
  return trainings;
}

// Of the curve that a number of the paper is about, in percent; NaN if the curve is not there.
double OursFor(const PaperAccuracy& paper, const FederatedFigure& figure,
               const FederatedRuns& runs) {
  for (const FederatedCurve& curve : figure.curves) {
    if (curve.name != paper.curve) continue;
    return 100 * runs.at(curve.points.back().setting).evaluations.back().smoothed_accuracy_top1;
  }
  return std::nan("");
}

StatusOr<FederatedSheet> SheetOfFigure(const FederatedFigure& figure,
                                       const FederatedWorkshop& workshop) {
  const std::vector<NamedTraining> trainings = TrainingsOf(figure);
  FederatedRuns runs;
  for (const auto& [name, setting] : trainings) {
    if (runs.contains(setting)) continue;
    SUBMIX_ASSIGN_OR_RETURN(runs[setting], workshop.train(setting));
  }
  FederatedSheet sheet;
  sheet.figure = DrawnFigure(figure, runs);
  sheet.body = HtmlParagraph(figure.reading);
  Json json = {{"name", figure.name}, {"title", figure.title}, {"reading", figure.reading}};
  json["paper"] = Json::array();
  if (!figure.paper.empty()) {
    HtmlTable table({"AccuracyTop1, %", "paper", "ours"});
    for (const PaperAccuracy& paper : figure.paper) {
      const double ours = OursFor(paper, figure, runs);
      table.Row().Cell(paper.what).Cell(paper.percent).Cell(ours);
      json["paper"].push_back(
          {{"what", paper.what}, {"paper", paper.percent}, {"ours", JsonNumber(ours)}});
    }
    sheet.body += HtmlHeading("The paper's numbers beside ours") + table.Html();
  } else {
    sheet.body += HtmlParagraph("The paper prints no numbers for this figure.");
  }
  json["trainings"] = TrainingsJson(trainings, runs);
  sheet.json = json.dump(2) + "\n";
  sheet.body += TrainingsTable(trainings, runs);
  sheet.files = {{"trainings.csv", TrainingsCsv(trainings, runs)}};
  return sheet;
}

}  // namespace

const std::vector<std::string>& FederatedNames() {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>(FederatedFigureNames());
    made->insert(made->end(), {kTable1, kTable2, kTable3});
    return made;
  }();
  return *names;
}

bool NeedsTraining(const std::string& name) { return name != kTable1; }

StatusOr<FederatedSheet> MakeFederatedSheet(const std::string& name, const FederatedSize& size,
                                            const FederatedWorkshop& workshop) {
  StatusOr<FederatedSheet> sheet = base::NotFoundError("");
  if (name == kTable1) {
    sheet = FederatedTable1();
  } else if (name == kTable2) {
    sheet = FederatedTable2(size, workshop);
  } else if (name == kTable3) {
    sheet = FederatedTable3(size, workshop);
  } else {
    SUBMIX_ASSIGN_OR_RETURN(const FederatedFigure figure, MakeFederatedFigure(name, size));
    sheet = SheetOfFigure(figure, workshop);
  }
  if (sheet.ok()) sheet->figure.name = name;
  return sheet;
}

}  // namespace submix::eval

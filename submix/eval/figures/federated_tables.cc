#include "submix/eval/figures/federated_tables.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/eval/figures/federated_report.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using accounting::FedAvgSettings;
using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr char kWhatEpsilonMeans[] =
    "Each epsilon of a population K is the accountant's: (epsilon, delta)-DP for one user, present "
    "or absent, worst case over all data sets, if every user takes part in a round independently "
    "with probability C~ / K, nobody sees who did, and K is public. Nobody was trained on such a "
    "population here. ";

std::string Count(double count) { return std::to_string(std::llround(count)); }

std::string Digits(const char* format, double value) {
  if (!std::isfinite(value)) return "";
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Trains what is not there yet.
Status Train(const std::vector<NamedTraining>& trainings, const FederatedWorkshop& workshop,
             FederatedRuns& runs) {
  for (const auto& [name, setting] : trainings) {
    if (runs.contains(setting)) continue;
    SUBMIX_ASSIGN_OR_RETURN(runs[setting], workshop.train(setting));
  }
  return base::OkStatus();
}

double LastPercent(const FederatedRun& run) {
  return 100 * run.evaluations.back().smoothed_accuracy_top1;
}

// A row of Table 2 as the paper has it, and ours.
struct SimulatedRow {
  accounting::FedAvgTable2Row paper;
  NamedTraining training;
  double epsilon = 0;          // the paper's accountant, its rounds
  double trained_epsilon = 0;  // the best order, the rounds that were trained
};

StatusOr<std::vector<SimulatedRow>> SimulatedRows(const FederatedBaselines& make) {
  std::vector<SimulatedRow> rows;
  for (const accounting::FedAvgTable2Row& paper : accounting::FedAvgTable2()) {
    SimulatedRow row = {paper, {"baseline", make.fedavg}};
    if (paper.noise_stddev > 0) {
      row.training.setting = make.Noisy(paper.clip_norm, paper.settings.users_per_round);
      row.training.name = ClippingAndNoise(row.training.setting);
    }
    SUBMIX_ASSIGN_OR_RETURN(row.epsilon, FedAvgEpsilon(paper.settings));
    FedAvgSettings trained = paper.settings;
    trained.rounds = row.training.setting.rounds;
    SUBMIX_ASSIGN_OR_RETURN(const auto best, FedAvgBestEpsilon(trained));
    row.trained_epsilon = best.epsilon;
    rows.push_back(row);
  }
  return rows;
}

Json SimulatedJson(const std::vector<SimulatedRow>& rows, const FederatedRuns& runs) {
  Json json = Json::array();
  for (const SimulatedRow& row : rows) {
    const FederatedRun& run = runs.at(row.training.setting);
    json.push_back({{"noise_deviation", row.paper.noise_stddev},
                    {"clip_norm", JsonNumber(row.paper.clip_norm)},
                    {"users", row.paper.settings.num_users},
                    {"users_per_round", row.paper.settings.users_per_round},
                    {"delta", row.paper.settings.delta},
                    {"rounds", row.paper.settings.rounds},
                    {"epsilon", JsonNumber(row.epsilon)},
                    {"paper_epsilon", JsonNumber(row.paper.printed_epsilon)},
                    {"trained_rounds", row.training.setting.rounds},
                    {"epsilon_of_trained_rounds", JsonNumber(row.trained_epsilon)},
                    {"accuracy_top1_percent", JsonNumber(LastPercent(run))},
                    {"paper_accuracy_top1_percent", row.paper.printed_accuracy}});
  }
  return json;
}

std::string SimulatedTable(const std::vector<SimulatedRow>& rows, const FederatedRuns& runs) {
  HtmlTable table({"noise", "S", "users K", "C~", "epsilon at 5,000 rounds, paper", "ours",
                   "at the rounds trained, best order", "AccuracyTop1, %, paper", "ours"});
  for (const SimulatedRow& row : rows) {
    table.Row()
        .Cell(row.paper.noise_stddev)
        .Cell(row.paper.clip_norm)
        .Cell(Count(row.paper.settings.num_users))
        .Cell(row.paper.settings.users_per_round)
        .Cell(row.paper.printed_epsilon)
        .Cell(row.epsilon)
        .Cell(row.trained_epsilon)
        .Cell(row.paper.printed_accuracy)
        .Cell(LastPercent(runs.at(row.training.setting)));
  }
  return HtmlHeading("The paper's numbers beside ours") + table.Html();
}

std::vector<NamedTraining> OwnTrainings(const FederatedBaselines& make) {
  return {{"fedavg", make.fedavg},
          {"dp-fedavg", make.dp_fedavg},
          {"fedsgd", make.fedsgd},
          {"dp-fedsgd", make.dp_fedsgd}};
}

std::string PrivateTrainingCsv(const std::vector<NamedTraining>& trainings,
                               const FederatedRuns& runs) {
  std::string csv = "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n";
  for (const auto& [method, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    const FederatedEvaluation& last = run.evaluations.back();
    csv += method + ",word-lstm,user," +
           (run.promise ? Digits("%.6g", run.promise->epsilon) : "inf") + "," +
           (run.promise ? Digits("%.6g", run.promise->delta) : "0") + "," +
           Digits("%.6g", last.perplexity) + "," + Digits("%.6g", last.smoothed_accuracy_top1) +
           "," + std::to_string(last.round) + "\n";
  }
  return csv;
}

FigureCurve OverEpsilon(double num_users, const std::vector<SimulatedRow>& rows,
                        const FederatedRuns& runs) {
  FigureCurve curve = {.name = Count(num_users) + " users, simulated",
                       .guarantee = "the accountant's, for a population that was not trained on"};
  for (const SimulatedRow& row : rows) {
    if (row.paper.settings.num_users != num_users || !std::isfinite(row.epsilon)) continue;
    curve.points.push_back({.x = row.epsilon, .y = LastPercent(runs.at(row.training.setting))});
  }
  return curve;
}

Figure DrawnTable2(const std::vector<SimulatedRow>& rows, const FederatedBaselines& make,
                   const FederatedRuns& runs) {
  Figure figure;
  figure.title = "DP-FedAvg, Table 2: accuracy and privacy";
  figure.x_label = "epsilon after 5,000 rounds, delta 1e-9; of the private training: its own";
  figure.y_label = "AccuracyTop1 on held-out users, %";
  figure.log_x = true;
  for (const double num_users : {763430.0, 1e8}) {
    figure.curves.push_back(OverEpsilon(num_users, rows, runs));
  }
  const FederatedRun& own = runs.at(make.dp_fedavg);
  if (own.promise.has_value()) {
    figure.curves.push_back({.name = "private, the users who are there",
                             .guarantee = PromiseOf(make.dp_fedavg, own),
                             .points = {{.x = own.promise->epsilon, .y = LastPercent(own)}}});
  }
  figure.curves.push_back({.name = "baseline",
                           .guarantee = PromiseOf(make.fedavg, runs.at(make.fedavg)),
                           .is_level = true,
                           .points = {{.y = LastPercent(runs.at(make.fedavg))}}});
  return figure;
}

// A row of Table 1: what kTable1Rounds cost.
struct CostRow {
  FedAvgSettings settings;
  std::array<double, 7> printed = {};
  std::vector<double> epsilons = {};  // by the paper's accountant
  std::vector<double> best = {};      // at the best of more orders, by the improved conversion
};

StatusOr<CostRow> CostsOf(const FedAvgSettings& settings, const std::array<double, 7>& printed) {
  CostRow row = {settings, printed};
  const accounting::SubsampledGaussianRun round = {settings.users_per_round / settings.num_users,
                                                   settings.noise_multiplier};
  accounting::RdpAccountant accountant;
  std::int64_t done = 0;
  for (const std::int64_t rounds : accounting::kTable1Rounds) {
    row.settings.rounds = rounds;
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(row.settings));
    row.epsilons.push_back(epsilon);
    accountant.Compose({round, rounds - done});
    done = rounds;
    SUBMIX_ASSIGN_OR_RETURN(const auto best, BestEpsilon(accountant.bounds(), settings.delta,
                                                         accounting::ConversionKind::kImproved));
    row.best.push_back(best.epsilon);
  }
  return row;
}

FigureCurve CostCurve(const CostRow& row) {
  const FedAvgSettings& settings = row.settings;
  FigureCurve curve = {.name = Count(settings.num_users) + " users, " +
                               Count(settings.users_per_round) +
                               " a round, z = " + ShortNumber(settings.noise_multiplier),
                       .guarantee = "one user present or absent, delta = K^-1.1"};
  for (std::size_t i = 0; i < row.epsilons.size(); ++i) {
    curve.points.push_back(
        {.x = static_cast<double>(accounting::kTable1Rounds[i]), .y = row.epsilons[i]});
  }
  return curve;
}

Json CostJson(const CostRow& row) {
  Json json = {{"users", row.settings.num_users},
               {"users_per_round", row.settings.users_per_round},
               {"noise_multiplier", row.settings.noise_multiplier},
               {"delta", row.settings.delta}};
  for (std::size_t i = 0; i < row.epsilons.size(); ++i) {
    json["epsilons"].push_back({{"rounds", accounting::kTable1Rounds[i]},
                                {"epsilon", row.epsilons[i]},
                                {"paper", row.printed[i]},
                                {"best_order_epsilon", row.best[i]}});
  }
  return json;
}

std::string CostTable(const std::vector<CostRow>& rows) {
  std::vector<std::string> headings = {"users K", "C~", "z", "delta", "whose"};
  for (const std::int64_t rounds : accounting::kTable1Rounds) {
    headings.push_back(std::to_string(rounds));
  }
  HtmlTable table(headings);
  for (const CostRow& row : rows) {
    const auto add = [&](const char* whose, std::span<const double> epsilons) {
      table.Row()
          .Cell(Count(row.settings.num_users))
          .Cell(Count(row.settings.users_per_round))
          .Cell(row.settings.noise_multiplier)
          .Cell(row.settings.delta)
          .Cell(std::string(whose));
      for (const double epsilon : epsilons) table.Cell(Digits("%.2f", epsilon));
    };
    add("paper", row.printed);
    add("ours", row.epsilons);
    add("best order", row.best);
  }
  return HtmlHeading("Epsilon after so many rounds") + table.Html();
}

// A model of Table 3.
struct HeadWordsOfModel {
  NamedTraining training;
  double accuracy_percent = 0;
  std::vector<HeadWordCounts> heads = {};
};

// In percent of all places.
std::array<double, 11> Percents(const HeadWordCounts& counts) {
  double all = 0;
  for (const std::int64_t places : counts.places) all += static_cast<double>(places);
  std::array<double, 11> percents = {};
  for (std::size_t i = 0; i < percents.size(); ++i) {
    percents[i] = 100 * static_cast<double>(counts.places[i]) / all;
  }
  return percents;
}

std::string HeadWordsTable(const std::vector<HeadWordsOfModel>& models) {
  std::vector<std::string> headings = {"model", "AccuracyTop1, %", "among the first"};
  for (int i = 0; i <= 10; ++i) headings.push_back(std::to_string(i));
  HtmlTable table(headings);
  for (const HeadWordsOfModel& model : models) {
    for (const HeadWordCounts& counts : model.heads) {
      table.Row().Cell(model.training.name).Cell(model.accuracy_percent).Cell(counts.head);
      for (const double percent : Percents(counts)) table.Cell(Digits("%.1f", percent));
    }
  }
  return HtmlHeading("Percent of the places") + table.Html();
}

std::string HeadWordsCsv(const std::vector<HeadWordsOfModel>& models) {
  std::string csv = "training,head,predictions,places,percent\n";
  for (const HeadWordsOfModel& model : models) {
    for (const HeadWordCounts& counts : model.heads) {
      const auto percents = Percents(counts);
      for (std::size_t i = 0; i < percents.size(); ++i) {
        csv += "\"" + model.training.name + "\"," + std::to_string(counts.head) + "," +
               std::to_string(i) + "," + std::to_string(counts.places[i]) + "," +
               Digits("%.6g", percents[i]) + "\n";
      }
    }
  }
  return csv;
}

Json HeadWordsJson(const std::vector<HeadWordsOfModel>& models) {
  Json json = Json::array();
  for (const HeadWordsOfModel& model : models) {
    for (const HeadWordCounts& counts : model.heads) {
      json.push_back(
          {{"training", model.training.name}, {"head", counts.head}, {"places", counts.places}});
    }
  }
  return json;
}

constexpr int kDrawnHead = 50;

Figure DrawnTable3(const std::vector<HeadWordsOfModel>& models, const FederatedRuns& runs) {
  Figure figure;
  figure.title = "DP-FedAvg, Table 3: common words among the first ten predictions";
  figure.x_label = "of ten predictions, so many are among the " + std::to_string(kDrawnHead) +
                   " most common words";
  figure.y_label = "share of the places, %";
  for (const HeadWordsOfModel& model : models) {
    for (const HeadWordCounts& counts : model.heads) {
      if (counts.head != kDrawnHead) continue;
      const FederatedSetting& setting = model.training.setting;
      FigureCurve curve = {.name = model.training.name,
                           .guarantee = PromiseOf(setting, runs.at(setting))};
      const auto percents = Percents(counts);
      for (std::size_t i = 0; i < percents.size(); ++i) {
        curve.points.push_back({.x = static_cast<double>(i), .y = percents[i]});
      }
      figure.curves.push_back(std::move(curve));
    }
  }
  return figure;
}

}  // namespace

StatusOr<FederatedSheet> FederatedTable1() {
  std::vector<CostRow> rows;
  for (const FedAvgSettings& settings : accounting::FedAvgTable1()) {
    SUBMIX_ASSIGN_OR_RETURN(CostRow row,
                            CostsOf(settings, accounting::kTable1Printed[rows.size()]));
    rows.push_back(std::move(row));
  }
  FederatedSheet sheet;
  sheet.figure.title = "DP-FedAvg, Table 1: what rounds cost";
  sheet.figure.x_label = "rounds";
  sheet.figure.y_label = "epsilon";
  sheet.figure.log_x = true;
  sheet.figure.log_y = true;
  const std::string reading =
      std::string(kWhatEpsilonMeans) +
      "delta = K^-1.1. \"Ours\" is the paper's moments accountant (orders to 33, classic "
      "conversion); \"best order\" is what the same rounds really cost, with more orders and the "
      "improved conversion.";
  Json json = {{"name", "dp-fedavg-table1"}, {"title", sheet.figure.title}, {"reading", reading}};
  for (const CostRow& row : rows) {
    sheet.figure.curves.push_back(CostCurve(row));
    json["rows"].push_back(CostJson(row));
  }
  sheet.json = json.dump(2) + "\n";
  sheet.body = HtmlParagraph(reading) + CostTable(rows);
  return sheet;
}

StatusOr<FederatedSheet> FederatedTable2(const FederatedSize& size,
                                         const FederatedWorkshop& workshop) {
  const FederatedBaselines make(size);
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<SimulatedRow> rows, SimulatedRows(make));
  std::vector<NamedTraining> trainings = OwnTrainings(make);
  const std::vector<NamedTraining> own = trainings;
  for (const SimulatedRow& row : rows) {
    // The paper's two populations share their trainings.
    if (row.paper.noise_stddev > 0 && row.paper.settings.num_users < 1e8) {
      trainings.push_back(row.training);
    }
  }
  FederatedRuns runs;
  SUBMIX_RETURN_IF_ERROR(Train(trainings, workshop, runs));
  const std::string reading =
      std::string(kWhatEpsilonMeans) +
      "Accuracies are of trainings with few users a round and the noise that C~ users would have "
      "at z = 1, the paper's estimate; they promise nothing for these users. dp-fedavg and "
      "dp-fedsgd, below, were really trained privately.";
  FederatedSheet sheet;
  sheet.figure = DrawnTable2(rows, make, runs);
  const Json json = {{"name", "dp-fedavg-table2"},
                     {"title", sheet.figure.title},
                     {"reading", reading},
                     {"rows", SimulatedJson(rows, runs)},
                     {"trainings", TrainingsJson(trainings, runs)}};
  sheet.json = json.dump(2) + "\n";
  sheet.body =
      HtmlParagraph(reading) + SimulatedTable(rows, runs) + TrainingsTable(trainings, runs);
  sheet.files = {{"trainings.csv", TrainingsCsv(trainings, runs)},
                 {"private_training.csv", PrivateTrainingCsv(own, runs)}};
  return sheet;
}

StatusOr<FederatedSheet> FederatedTable3(const FederatedSize& size,
                                         const FederatedWorkshop& workshop) {
  const FederatedBaselines make(size);
  std::vector<NamedTraining> trainings = {{"baseline", make.fedavg}};
  for (const auto& [clip, users] :
       {std::pair{15.0, 5000.0}, {10.0, 1667.0}, {15.0, 1250.0}, {15.0, 100.0}}) {
    const FederatedSetting setting = make.Noisy(clip, users);
    trainings.push_back({ClippingAndNoise(setting), setting});
  }
  FederatedRuns runs;
  SUBMIX_RETURN_IF_ERROR(Train(trainings, workshop, runs));
  std::vector<HeadWordsOfModel> models;
  for (const NamedTraining& training : trainings) {
    SUBMIX_ASSIGN_OR_RETURN(std::vector<HeadWordCounts> heads,
                            workshop.head_words(training.setting));
    models.push_back({training, LastPercent(runs.at(training.setting)), std::move(heads)});
  }
  FederatedSheet sheet;
  sheet.figure = DrawnTable3(models, runs);
  const std::string reading =
      "At how many of the held-out places, in percent, 0 to 10 of a model's first ten predictions "
      "are among the 10, 50 and 100 most common words of the dictionary. The paper: better models "
      "use fewer of them, whatever S and noise, until the noise spoils the model. The noise is "
      "simulated; it promises nothing here.";
  const Json json = {{"name", "dp-fedavg-table3"},
                     {"title", sheet.figure.title},
                     {"reading", reading},
                     {"histograms", HeadWordsJson(models)},
                     {"trainings", TrainingsJson(trainings, runs)}};
  sheet.json = json.dump(2) + "\n";
  sheet.body = HtmlParagraph(reading) + HeadWordsTable(models) + TrainingsTable(trainings, runs);
  sheet.files = {{"trainings.csv", TrainingsCsv(trainings, runs)},
                 {"head_words.csv", HeadWordsCsv(models)}};
  return sheet;
}

}  // namespace submix::eval

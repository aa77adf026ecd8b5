#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/accounting/dp_fedavg.h"
#include "submix/accounting/rdp_accountant.h"
#include "submix/base/number_text.h"
#include "submix/eval/figures/federated_report.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using accounting::FedAvgSettings;
using base::NumberText;
using base::StatusOr;
using Json = nlohmann::ordered_json;

constexpr char kWhatEpsilonMeans[] =
    "Each epsilon of a population K is the accountant's: (epsilon, delta)-DP for one user, present "
    "or absent, worst case over all data sets, if every user takes part in a round independently "
    "with probability C~ / K, nobody sees who did, and K is public. Nobody was trained on such a "
    "population here. ";

std::string Count(double count) { return std::to_string(std::llround(count)); }

// Nothing for what is not finite.
std::string Number(double value) { return std::isfinite(value) ? NumberText(value) : ""; }

std::string Fixed(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// A row of Table 2 as the paper has it, and ours.
struct SimulatedRow {
  accounting::FedAvgTable2Row paper;
  NamedTraining training;
  double epsilon = 0;          // the paper's accountant, its rounds
  double trained_epsilon = 0;  // the best order, the rounds that were trained
};

StatusOr<std::vector<SimulatedRow>> SimulatedRows(const FederatedSize& size) {
  std::vector<SimulatedRow> rows;
  for (const accounting::FedAvgTable2Row& paper : accounting::FedAvgTable2()) {
    SimulatedRow row = {paper, {"baseline", Baseline(size)}};
    if (paper.noise_stddev > 0) {
      row.training.setting = Noisy(size, paper.clip_norm, paper.settings.users_per_round);
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

void AddRows(const std::vector<SimulatedRow>& rows, const FederatedRuns& runs, Findings& findings) {
  HtmlTable table({"noise", "S", "users K", "C~", "epsilon at 5,000 rounds, paper", "ours",
                   "at the rounds trained, best order", "AccuracyTop1, %, paper", "ours"});
  for (const auto& [paper, training, epsilon, trained_epsilon] : rows) {
    const double accuracy = PercentAt(runs.at(training.setting));
    const FedAvgSettings& settings = paper.settings;
    table.Row({paper.noise_stddev, paper.clip_norm, Count(settings.num_users),
               settings.users_per_round, paper.printed_epsilon, epsilon, trained_epsilon,
               paper.printed_accuracy, accuracy});
    findings.json.push_back({{"noise_deviation", paper.noise_stddev},
                             {"clip_norm", JsonNumber(paper.clip_norm)},
                             {"users", settings.num_users},
                             {"users_per_round", settings.users_per_round},
                             {"delta", settings.delta},
                             {"rounds", settings.rounds},
                             {"epsilon", JsonNumber(epsilon)},
                             {"paper_epsilon", JsonNumber(paper.printed_epsilon)},
                             {"trained_rounds", training.setting.rounds},
                             {"epsilon_of_trained_rounds", JsonNumber(trained_epsilon)},
                             {"accuracy_top1_percent", JsonNumber(accuracy)},
                             {"paper_accuracy_top1_percent", paper.printed_accuracy}});
  }
  findings.html = table.HtmlUnder("The paper's numbers beside ours");
}

std::string PrivateTrainingCsv(const NamedTrainings& trainings, const FederatedRuns& runs) {
  std::string csv = "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n";
  for (const auto& [method, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    const FederatedEvaluation& last = run.evaluations.back();
    const FederatedPromise promise =
        run.promise.value_or(FederatedPromise{.epsilon = std::numeric_limits<double>::infinity()});
    csv += method + ",word-lstm,user," + NumberText(promise.epsilon) + "," +
           NumberText(promise.delta) + "," + Number(last.perplexity) + "," +
           Number(last.smoothed_accuracy_top1) + "," + std::to_string(last.round) + "\n";
  }
  return csv;
}

FigureCurve OverEpsilon(double num_users, const std::vector<SimulatedRow>& rows,
                        const FederatedRuns& runs) {
  FigureCurve curve = {.name = Count(num_users) + " users, simulated",
                       .guarantee = "the accountant's, for a population that was not trained on"};
  for (const SimulatedRow& row : rows) {
    if (row.paper.settings.num_users != num_users || !std::isfinite(row.epsilon)) continue;
    curve.points.push_back({.x = row.epsilon, .y = PercentAt(runs.at(row.training.setting))});
  }
  return curve;
}

Figure PlotTable2(const std::string& name, const std::vector<SimulatedRow>& rows,
                  const FederatedSize& size, const FederatedRuns& runs) {
  Figure figure = {
      .name = name,
      .title = "DP-FedAvg, Table 2: accuracy and privacy",
      .x_label = "epsilon after 5,000 rounds, delta 1e-9; of the private training: its own",
      .y_label = "AccuracyTop1 on held-out users, %",
      .log_x = true};
  for (const double num_users : {763430.0, 1e8}) {
    figure.curves.push_back(OverEpsilon(num_users, rows, runs));
  }
  const FederatedSetting own = Private(size, /*is_fedsgd=*/false);
  const FederatedRun& run = runs.at(own);
  if (run.promise.has_value()) {
    figure.curves.push_back({.name = "private, the users who are there",
                             .guarantee = PromiseOf(own, run),
                             .points = {{.x = run.promise->epsilon, .y = PercentAt(run)}}});
  }
  const FederatedRun& baseline = runs.at(Baseline(size));
  figure.curves.push_back({.name = "baseline",
                           .guarantee = PromiseOf(Baseline(size), baseline),
                           .is_level = true,
                           .points = {{.y = PercentAt(baseline)}}});
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

FigureCurve PlotCosts(const CostRow& row) {
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

std::string CostHtml(const std::vector<CostRow>& rows) {
  std::vector<std::string> headings = {"users K", "C~", "z", "delta", "whose"};
  for (const std::int64_t rounds : accounting::kTable1Rounds) {
    headings.push_back(std::to_string(rounds));
  }
  HtmlTable table(headings);
  for (const CostRow& row : rows) {
    const auto add = [&](const char* whose, std::span<const double> epsilons) {
      std::vector<HtmlCell> cells = {Count(row.settings.num_users),
                                     Count(row.settings.users_per_round),
                                     row.settings.noise_multiplier, row.settings.delta, whose};
      for (const double epsilon : epsilons) cells.emplace_back(Fixed(epsilon, 2));
      table.Row(cells);
    };
    add("paper", row.printed);
    add("ours", row.epsilons);
    add("best order", row.best);
  }
  return table.HtmlUnder("Epsilon after so many rounds");
}

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

// One model and head of Table 3 everywhere.
class HeadWords {
 public:
  explicit HeadWords(const std::string& name) {
    figure.name = name;
    figure.title = "DP-FedAvg, Table 3: common words among the first ten predictions";
    figure.x_label = "of ten predictions, so many are among the " + std::to_string(kPlottedHead) +
                     " most common words";
    figure.y_label = "share of the places, %";
  }

  void Add(const NamedTraining& training, const FederatedRun& run, const HeadWordCounts& counts) {
    const std::array<double, 11> percents = Percents(counts);
    std::vector<HtmlCell> cells = {training.name, PercentAt(run), static_cast<double>(counts.head)};
    FigureCurve curve = {.name = training.name, .guarantee = PromiseOf(training.setting, run)};
    for (std::size_t i = 0; i < percents.size(); ++i) {
      cells.emplace_back(std::isfinite(percents[i]) ? Fixed(percents[i], 1) : "");
      csv += "\"" + training.name + "\"," + std::to_string(counts.head) + "," + std::to_string(i) +
             "," + std::to_string(counts.places[i]) + "," + Number(percents[i]) + "\n";
      curve.points.push_back({.x = static_cast<double>(i), .y = percents[i]});
    }
    table.Row(cells);
    json.push_back({{"training", training.name}, {"head", counts.head}, {"places", counts.places}});
    if (counts.head == kPlottedHead) figure.curves.push_back(std::move(curve));
  }

  Figure figure;
  std::string csv = "training,head,predictions,places,percent\n";
  Json json = Json::array();
  HtmlTable table{{"model", "AccuracyTop1, %", "among the first", "0", "1", "2", "3", "4", "5", "6",
                   "7", "8", "9", "10"}};

 private:
  static constexpr int kPlottedHead = 50;
};

}  // namespace

StatusOr<FigurePage> FederatedTable1(const std::string& name, const FederatedSize&,
                                     const FederatedModelSource&) {
  Figure figure = {.name = name,
                   .title = "DP-FedAvg, Table 1: what rounds cost",
                   .x_label = "rounds",
                   .y_label = "epsilon",
                   .log_x = true,
                   .log_y = true};
  Findings findings = {
      std::string(kWhatEpsilonMeans) +
          "delta = K^-1.1. \"Ours\" is the paper's moments accountant (orders to 33, classic "
          "conversion); \"best order\" is what the same rounds really cost, with more orders and "
          "the improved conversion.",
      "rows"};
  std::vector<CostRow> rows;
  for (const FedAvgSettings& settings : accounting::FedAvgTable1()) {
    SUBMIX_ASSIGN_OR_RETURN(CostRow row,
                            CostsOf(settings, accounting::kTable1Printed[rows.size()]));
    figure.curves.push_back(PlotCosts(row));
    findings.json.push_back(CostJson(row));
    rows.push_back(std::move(row));
  }
  findings.html = CostHtml(rows);
  return PageOf(figure, findings, {}, {});
}

StatusOr<FigurePage> FederatedTable2(const std::string& name, const FederatedSize& size,
                                     const FederatedModelSource& source) {
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<SimulatedRow> rows, SimulatedRows(size));
  const NamedTrainings own = {{"fedavg", Baseline(size)},
                              {"dp-fedavg", Private(size, /*is_fedsgd=*/false)},
                              {"fedsgd", FedSgd(size, std::numeric_limits<double>::infinity(), 0)},
                              {"dp-fedsgd", Private(size, /*is_fedsgd=*/true)}};
  NamedTrainings trainings = own;
  for (const SimulatedRow& row : rows) {
    // The paper's two populations share their trainings.
    if (row.paper.noise_stddev > 0 && row.paper.settings.num_users < 1e8) {
      trainings.push_back(row.training);
    }
  }
  SUBMIX_ASSIGN_OR_RETURN(const FederatedRuns runs, TrainAll(trainings, source));
  Findings findings = {
      std::string(kWhatEpsilonMeans) +
          "Accuracies are of trainings with few users a round and the noise that C~ users would "
          "have at z = 1, the paper's estimate; they promise nothing for these users. dp-fedavg "
          "and dp-fedsgd, below, were really trained privately.",
      "rows"};
  AddRows(rows, runs, findings);
  FigurePage page = PageOf(PlotTable2(name, rows, size, runs), findings, trainings, runs);
  page.files.emplace_back("private_training.csv", PrivateTrainingCsv(own, runs));
  return page;
}

StatusOr<FigurePage> FederatedTable3(const std::string& name, const FederatedSize& size,
                                     const FederatedModelSource& source) {
  NamedTrainings trainings = {{"baseline", Baseline(size)}};
  for (const auto& [clip, users] :
       {std::pair{15.0, 5000.0}, {10.0, 1667.0}, {15.0, 1250.0}, {15.0, 100.0}}) {
    const FederatedSetting setting = Noisy(size, clip, users);
    trainings.push_back({ClippingAndNoise(setting), setting});
  }
  SUBMIX_ASSIGN_OR_RETURN(const FederatedRuns runs, TrainAll(trainings, source));
  HeadWords words(name);
  for (const NamedTraining& training : trainings) {
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<HeadWordCounts> heads,
                            source.head_words(training.setting));
    for (const HeadWordCounts& counts : heads) {
      words.Add(training, runs.at(training.setting), counts);
    }
  }
  const Findings findings = {
      "At how many of the held-out places, in percent, 0 to 10 of a model's first ten predictions "
      "are among the 10, 50 and 100 most common words of the dictionary. The paper: better models "
      "use fewer of them, whatever S and noise, until the noise spoils the model. The noise is "
      "simulated; it promises nothing here.",
      "histograms", words.json, words.table.HtmlUnder("Percent of the places")};
  FigurePage page = PageOf(words.figure, findings, trainings, runs);
  page.files.emplace_back("head_words.csv", words.csv);
  return page;
}

}  // namespace submix::eval

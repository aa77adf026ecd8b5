#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/accounting/calculators/dp_fedavg.h"
#include "submix/accounting/calculators/rdp_accountant.h"
#include "submix/base/csv.h"
#include "submix/base/number_text.h"
#include "submix/base/text_table.h"
#include "submix/eval/figures/federated_report.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

using accounting::FedAvgSettings;
using base::FixedText;
using base::NumberText;
using base::Status;
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

// Table 1: what kTable1Rounds cost, by the paper's accountant and at the best of more orders.
class Costs {
 public:
  Status Add(FedAvgSettings settings, std::span<const double> printed) {
    const accounting::SubsampledGaussianRun round = {settings.users_per_round / settings.num_users,
                                                     settings.noise_multiplier};
    FigureCurve curve = {.name = Count(settings.num_users) + " users, " +
                                 Count(settings.users_per_round) +
                                 " a round, z = " + ShortNumber(settings.noise_multiplier),
                         .guarantee = "one user present or absent, delta = K^-1.1"};
    Json row = {{"users", settings.num_users},
                {"users_per_round", settings.users_per_round},
                {"noise_multiplier", settings.noise_multiplier},
                {"delta", settings.delta}};
    std::vector<double> ours, best_order;
    accounting::RdpAccountant accountant;
    std::int64_t done = 0;
    for (std::size_t i = 0; i < printed.size(); ++i) {
      settings.rounds = accounting::kTable1Rounds[i];
      SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(settings));
      accountant.Compose({round, settings.rounds - done});
      done = settings.rounds;
      SUBMIX_ASSIGN_OR_RETURN(const auto best, BestEpsilon(accountant.bounds(), settings.delta,
                                                           accounting::ConversionKind::kImproved));
      curve.points.push_back({.x = static_cast<double>(settings.rounds), .y = epsilon});
      row["epsilons"].push_back({{"rounds", settings.rounds},
                                 {"epsilon", epsilon},
                                 {"paper", printed[i]},
                                 {"best_order_epsilon", best.epsilon}});
      ours.push_back(epsilon);
      best_order.push_back(best.epsilon);
    }
    AddToTable("paper", settings, printed);
    AddToTable("ours", settings, ours);
    AddToTable("best order", settings, best_order);
    curves.push_back(std::move(curve));
    json.push_back(std::move(row));
    return base::OkStatus();
  }

  std::vector<FigureCurve> curves;
  Json json;
  HtmlTable table{{"users K", "C~", "z", "delta", "whose", "1", "10", "100", "1000", "10000",
                   "100000", "1000000"}};

 private:
  void AddToTable(const char* whose, const FedAvgSettings& settings,
                  std::span<const double> epsilons) {
    std::vector<HtmlCell> cells = {Count(settings.num_users), Count(settings.users_per_round),
                                   settings.noise_multiplier, settings.delta, whose};
    for (const double epsilon : epsilons) cells.emplace_back(FixedText(epsilon, 2));
    table.Row(cells);
  }
};

// The training that stands for a row of Table 2.
NamedTraining TrainingOf(const accounting::FedAvgTable2Row& paper, const FederatedSize& size) {
  if (!(paper.noise_stddev > 0)) return {"baseline", Baseline(size)};
  const FederatedSetting setting = Noisy(size, paper.clip_norm, paper.settings.users_per_round);
  return {ClippingAndNoise(setting), setting};
}

// Table 2: the paper's rows and ours.
class SimulatedPopulations {
 public:
  Status Add(const accounting::FedAvgTable2Row& paper, const FederatedSetting& setting,
             const FederatedRun& run) {
    const FedAvgSettings& settings = paper.settings;
    SUBMIX_ASSIGN_OR_RETURN(const double epsilon, FedAvgEpsilon(settings));
    FedAvgSettings trained = settings;
    trained.rounds = setting.rounds;
    SUBMIX_ASSIGN_OR_RETURN(const auto best, FedAvgBestEpsilon(trained));
    const double accuracy = PercentAt(run);
    table.Row({paper.noise_stddev, paper.clip_norm, Count(settings.num_users),
               settings.users_per_round, paper.printed_epsilon, epsilon, best.epsilon,
               paper.printed_accuracy, accuracy});
    json.push_back({{"noise_deviation", paper.noise_stddev},
                    {"clip_norm", JsonNumber(paper.clip_norm)},
                    {"users", settings.num_users},
                    {"users_per_round", settings.users_per_round},
                    {"delta", settings.delta},
                    {"rounds", settings.rounds},
                    {"epsilon", JsonNumber(epsilon)},
                    {"paper_epsilon", JsonNumber(paper.printed_epsilon)},
                    {"trained_rounds", trained.rounds},
                    {"epsilon_of_trained_rounds", JsonNumber(best.epsilon)},
                    {"accuracy_top1_percent", JsonNumber(accuracy)},
                    {"paper_accuracy_top1_percent", paper.printed_accuracy}});
    if (!std::isfinite(epsilon)) return base::OkStatus();
    FigureCurve& curve = curves[settings.num_users];
    curve.name = Count(settings.num_users) + " users, simulated";
    curve.guarantee = "the accountant's, for a population that was not trained on";
    curve.points.push_back({.x = epsilon, .y = accuracy});
    return base::OkStatus();
  }

  std::map<double, FigureCurve> curves;  // by the number of users
  Json json;
  HtmlTable table{{"noise", "S", "users K", "C~", "epsilon at 5,000 rounds, paper", "ours",
                   "at the rounds trained, best order", "AccuracyTop1, %, paper", "ours"}};
};

// Really trained: its epsilon, and the level of the baseline.
void PlotOwnTrainings(const NamedTraining& own, const NamedTraining& baseline,
                      const FederatedRuns& runs, Figure& figure) {
  const FederatedRun& run = runs.at(own.setting);
  if (run.promise.has_value()) {
    figure.curves.push_back({.name = "private, the users who are there",
                             .guarantee = PromiseOf(own.setting, run),
                             .points = {{.x = run.promise->epsilon, .y = PercentAt(run)}}});
  }
  const FederatedRun& level = runs.at(baseline.setting);
  figure.curves.push_back({.name = "baseline",
                           .guarantee = PromiseOf(baseline.setting, level),
                           .is_level = true,
                           .points = {{.y = PercentAt(level)}}});
}

std::string PrivateTrainingCsv(const NamedTrainings& trainings, const FederatedRuns& runs) {
  std::string csv = "method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds\n";
  for (const auto& [method, setting] : trainings) {
    const FederatedRun& run = runs.at(setting);
    const FederatedEvaluation& last = run.evaluations.back();
    const FederatedPromise promise =
        run.promise.value_or(FederatedPromise{.epsilon = std::numeric_limits<double>::infinity()});
    csv += base::CsvRow({method, "word-lstm", "user", NumberText(promise.epsilon),
                         NumberText(promise.delta), Number(last.perplexity),
                         Number(last.smoothed_accuracy_top1), std::to_string(last.round)});
  }
  return csv;
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
      cells.emplace_back(std::isfinite(percents[i]) ? FixedText(percents[i], 1) : "");
      csv += base::CsvRow({training.name, std::to_string(counts.head), std::to_string(i),
                           std::to_string(counts.places[i]), Number(percents[i])});
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
  Costs costs;
  for (std::size_t row = 0; row < accounting::kTable1Printed.size(); ++row) {
    SUBMIX_RETURN_IF_ERROR(
        costs.Add(accounting::FedAvgTable1()[row], accounting::kTable1Printed[row]));
  }
  figure.curves = costs.curves;
  const Findings findings = {
      std::string(kWhatEpsilonMeans) +
          "delta = K^-1.1. \"Ours\" is the paper's moments accountant (orders to 33, classic "
          "conversion); \"best order\" is what the same rounds really cost, with more orders and "
          "the improved conversion.",
      "rows", costs.json, costs.table.HtmlUnder("Epsilon after so many rounds")};
  return PageOf(figure, findings, {}, {});
}

StatusOr<FigurePage> FederatedTable2(const std::string& name, const FederatedSize& size,
                                     const FederatedModelSource& source) {
  const NamedTrainings own = {{"fedavg", Baseline(size)},
                              {"dp-fedavg", Private(size, /*is_fedsgd=*/false)},
                              {"fedsgd", FedSgd(size, std::numeric_limits<double>::infinity(), 0)},
                              {"dp-fedsgd", Private(size, /*is_fedsgd=*/true)}};
  NamedTrainings trainings = own;
  for (const accounting::FedAvgTable2Row& row : accounting::FedAvgTable2()) {
    // The paper's two populations share their trainings.
    if (row.noise_stddev > 0 && row.settings.num_users < 1e8) {
      trainings.push_back(TrainingOf(row, size));
    }
  }
  SUBMIX_ASSIGN_OR_RETURN(const FederatedRuns runs, TrainAll(trainings, source));
  SimulatedPopulations rows;
  for (const accounting::FedAvgTable2Row& row : accounting::FedAvgTable2()) {
    const FederatedSetting setting = TrainingOf(row, size).setting;
    SUBMIX_RETURN_IF_ERROR(rows.Add(row, setting, runs.at(setting)));
  }
  Figure figure = {
      .name = name,
      .title = "DP-FedAvg, Table 2: accuracy and privacy",
      .x_label = "epsilon after 5,000 rounds, delta 1e-9; of the private training: its own",
      .y_label = "AccuracyTop1 on held-out users, %",
      .log_x = true};
  for (const auto& [users, curve] : rows.curves) figure.curves.push_back(curve);
  PlotOwnTrainings(own[1], own[0], runs, figure);
  const Findings findings = {
      std::string(kWhatEpsilonMeans) +
          "Accuracies are of trainings with few users a round and the noise that C~ users would "
          "have at z = 1, the paper's estimate; they promise nothing for these users. dp-fedavg "
          "and dp-fedsgd, below, were really trained privately.",
      "rows", rows.json, rows.table.HtmlUnder("The paper's numbers beside ours")};
  FigurePage page = PageOf(figure, findings, trainings, runs);
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

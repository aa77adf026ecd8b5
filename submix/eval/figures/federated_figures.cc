#include "submix/eval/figures/federated_figures.h"

#include <algorithm>
#include <cmath>

#include "submix/eval/figures/federated_report.h"
#include "submix/eval/figures/study.h"
#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

constexpr double kNoClipping = std::numeric_limits<double>::infinity();
constexpr double kPaperClip = 15;  // S of the paper's experiments
constexpr double kFedSgdClip = 20;
constexpr double kScheduleUsers = 1667;  // noise of S / 1667: .006 at S = 10
// Of a figure's rounds: 6,000 follow on the first 4,885.
constexpr double kLateShare = 6000.0 / 4885;

// What stands in a figure's reading beside what the paper found.
const std::string kOurTrainings =
    "The paper trains on 763,430 Reddit users, ours are those named below, and the trainings are "
    "of the size that stands below; order and slope of curves compare, absolute accuracies do "
    "not. ";
const std::string kSimulated =
    "Noise is that of a larger number of users a round at z = 1, on the average of fewer: the "
    "paper's own estimate, which promises nothing for the model that was trained. ";

using TrainingCurve = StudyCurve<FederatedSetting>;

// `paper`: AccuracyTop1 in percent; ours is the last one of the curve.
struct FederatedStudy : Study<FederatedSetting> {
  // true: a curve is one training, plotted over its rounds. false: a curve is plotted once for
  // every share, after so much of its rounds.
  bool is_over_rounds = false;
  std::vector<double> shares = {0.25, 0.5, 1};
  // A dashed line at the last accuracy of this training.
  std::optional<FederatedSetting> level = {};
  std::string level_name = {};
};

std::int64_t Rounds(double share, const FederatedSize& size) {
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(size.rounds)));
}

// Goes on from the training of S = 10.
FederatedSetting Late(const FederatedSize& size, double clip_norm) {
  FederatedSetting setting = Noisy(size, clip_norm, kScheduleUsers);
  setting.rounds = Rounds(kLateShare, size);
  setting.earlier_clip_norm = 10;
  setting.earlier_rounds = size.rounds;
  return setting;
}

// Of one training.
TrainingCurve Training(const std::string& name, const FederatedSetting& setting) {
  return {name, {{0, setting}}};
}

TrainingCurve Training(const FederatedSetting& setting) {
  return Training(ClippingAndNoise(setting), setting);
}

// A training for each value. A smaller version keeps every n-th as they stand here; the curve
// rises.
TrainingCurve Over(const std::string& name, const std::vector<double>& values,
                   const FederatedSize& size,
                   const std::function<FederatedSetting(double)>& setting) {
  TrainingCurve curve = {name};
  for (const double value : Thinned(values, size.every_nth)) {
    curve.points.push_back({value, setting(value)});
  }
  std::ranges::sort(curve.points, {}, &StudyPoint<FederatedSetting>::x);
  return curve;
}

FederatedStudy OverRounds(const std::string& title, const std::vector<TrainingCurve>& curves,
                          const std::string& reading) {
  FederatedStudy study;
  study.figure = {
      .title = title, .x_label = "rounds", .y_label = "AccuracyTop1 on held-out users, %"};
  study.is_over_rounds = true;
  study.curves = curves;
  study.reading = kOurTrainings + reading;
  return study;
}

FederatedStudy OverValues(const std::string& title, const std::string& x_label,
                          const std::vector<TrainingCurve>& curves, const std::string& level_name,
                          const std::optional<FederatedSetting>& level,
                          const std::string& reading) {
  FederatedStudy study = OverRounds(title, curves, reading);
  study.figure.x_label = x_label;
  study.is_over_rounds = false;
  study.level_name = level_name;
  study.level = level;
  return study;
}

// The noise of so many users a round at z = 1, as an axis.
FederatedStudy OverNoise(const std::string& title, const std::vector<double>& users,
                         const FederatedSize& size,
                         const std::function<FederatedSetting(double users)>& setting,
                         const std::string& reading) {
  TrainingCurve curve = Over("", users, size, setting);
  for (auto& [x, noisy] : curve.points) x = NoiseDeviation(noisy);
  std::ranges::reverse(curve.points);
  FederatedStudy study = OverValues(title, "standard deviation of the noise on the average",
                                    {curve}, "no noise", setting(0), kSimulated + reading);
  study.figure.log_x = true;
  return study;
}

FederatedStudy Figure1(const FederatedSize& size) {
  FederatedStudy study = OverRounds(
      "DP-FedAvg, Figure 1: clipping and noise against the baseline",
      {Training("baseline: fixed sample, true average", Baseline(size)),
       Training(Noisy(size, 15, 5000)), Training(Noisy(size, 10, 1667)),
       Training(Noisy(size, 15, 1250))},
      kSimulated +
          "The paper: S = 15 with noise .003 nearly meets the baseline; more noise falls below it "
          "as training goes on.");
  study.paper = {{"baseline, 5,000 rounds", 17.62, study.curves[0].name},
                 {"S = 15, noise .003", 17.49, study.curves[1].name},
                 {"S = 10, noise .006", 17.04, study.curves[2].name},
                 {"S = 15, noise .012", 16.33, study.curves[3].name}};
  return study;
}

FederatedStudy Figure2(const FederatedSize& size) {
  const auto clipped = [&](const std::string& name, bool per_layer) {
    return Over(name, {15, 1, 5, 20, 10, 30}, size, [&](double clip) {
      FederatedSetting setting = Noisy(size, clip, 0);
      setting.per_layer = per_layer;
      return setting;
    });
  };
  FederatedStudy study = OverValues(
      "DP-FedAvg, Figure 2: flat and per-layer clipping", "clipping norm S",
      {clipped("flat", false), clipped("per layer", true)}, "no clipping", Unclipped(size),
      "The paper: S between 15 and 20 has at most a small effect on convergence, flat or per "
      "layer.");
  study.shares = {0.25, 1};
  return study;
}

FederatedStudy Figure3(const FederatedSize& size) {
  return OverNoise(
      "DP-FedAvg, Figure 3: noise at S = 15", {1250, 625, 100, 5000, 2500, 312.5}, size,
      [&](double users) { return Noisy(size, kPaperClip, users); },
      "The paper: hardly any loss up to .024 early in training, later a small one past .012. Noise "
      "of .15 is what 100 users a round would need for z = 1, and destroys accuracy.");
}

const std::vector<double> kScheduleClips = {10, 5, 12.6, 7.9, 20};
const std::string kScheduleReading =
    kSimulated +
    "Noise follows S, S / 1,667 (.006 at S = 10), so that every round would cost the same. The "
    "paper: in the first 4,885 rounds S from 10 to 12.6 is best, in the 6,000 that follow S = 7.9 "
    "with noise .0048 is.";

FederatedStudy Figure4(const FederatedSize& size) {
  const auto early = [&](double clip) { return Noisy(size, clip, kScheduleUsers); };
  const auto late = [&](double clip) { return Late(size, clip); };
  FederatedStudy study =
      OverValues("DP-FedAvg, Figure 4: clipping and noise, early and late", "clipping norm S",
                 {Over("early", kScheduleClips, size, early),
                  Over("late, from the model of S = 10", kScheduleClips, size, late)},
                 "", std::nullopt, kScheduleReading);
  study.shares = {1};
  return study;
}

FederatedStudy Figure5(const FederatedSize& size) {
  FederatedSetting random_true = Baseline(size);
  random_true.fixed_size_sample = false;
  FederatedSetting clipped = random_true;
  clipped.average = UpdateAverage::kClippedDivisor;
  return OverRounds("DP-FedAvg, Figure 5: estimators and sampling",
                    {Training("fixed sample, true average", Baseline(size)),
                     Training("random sample, true average", random_true),
                     Training("random sample, clipped divisor", clipped),
                     Training("random sample, fixed divisor", Unclipped(size))},
                    "The paper: none of the changes matters for convergence. A sample of fixed "
                    "size is research: the accountant's statement is for users who take part "
                    "independently and does not cover it, so no epsilon is printed for it.");
}

FederatedStudy Figure6(const FederatedSize& size) {
  std::vector<TrainingCurve> curves;
  for (const double share : Thinned({1, 0.2, 5, 2}, size.every_nth)) {
    const FederatedSetting setting = Unclipped(size, share);
    const std::string name = ShortNumber(setting.expected_users) + " users a round";
    // More than there are is all of them, once.
    if (std::ranges::find(curves, name, &TrainingCurve::name) != curves.end()) continue;
    curves.push_back(Training(name, setting));
  }
  return OverRounds("DP-FedAvg, Figure 6: users a round", curves,
                    "No clipping, no noise. The paper: more users a round bring less and less.");
}

FederatedStudy Figure7(const FederatedSize& size) {
  const FederatedSetting large = Private(size, /*is_fedsgd=*/false);
  const FederatedSetting few = Noisy(size, kPaperClip, large.expected_users);
  const std::string users = " users a round, ";
  return OverRounds(
      "DP-FedAvg, Figure 7: the same noise with few and many users a round",
      {Training(ShortNumber(few.expected_users) + users + "noise simulated", few),
       Training(ShortNumber(large.expected_users) + users + "private", large)},
      "S = 15 and, with 1,250 users, noise .012 in both. The paper: the curves are nearly the "
      "same, so few users tell the accuracy that many would give; with 763,430 users the second is "
      "(1.976, 1e-9)-DP after 3,000 rounds. Our epsilon is that of the users who are there.");
}

FederatedStudy Figure8(const FederatedSize& size) {
  std::vector<TrainingCurve> curves;
  for (const double clip : Thinned(kScheduleClips, size.every_nth)) {
    curves.push_back(Training(Late(size, clip)));
  }
  FederatedStudy study =
      OverRounds("DP-FedAvg, Figure 8: the rounds after clipping and noise were adjusted", curves,
                 kScheduleReading);
  study.figure.x_label = "rounds after the change";
  return study;
}

constexpr char kFedSgdReading[] =
    "Half as many users a round as for FedAvg, four times the rounds. The paper: the ratio of "
    "clipping to noise has the effect that it has for FedAvg, and many more rounds are needed.";

FederatedStudy Figure9(const FederatedSize& size) {
  const auto clipped = [&](double clip) { return FedSgd(size, clip, 0); };
  return OverValues("DP-FedAvg, Figure 9: clipping of FedSGD", "clipping norm S",
                    {Over("", {20, 5, 10, 2}, size, clipped)}, "no clipping", clipped(kNoClipping),
                    kFedSgdReading);
}

FederatedStudy Figure10(const FederatedSize& size) {
  return OverNoise(
      "DP-FedAvg, Figure 10: noise of FedSGD at S = 20", {2000, 200, 6667, 667}, size,
      [&](double users) { return FedSgd(size, kFedSgdClip, users); }, kFedSgdReading);
}

FederatedStudy LargerDictionary(const FederatedSize& size, const std::string& title, int times) {
  std::vector<TrainingCurve> curves = {
      Training(std::to_string(size.words) + " words, S = 15", Noisy(size, kPaperClip, 0))};
  const auto add = [&](double clip, double users) {
    FederatedSetting setting = Noisy(size, clip, users);
    setting.words = size.words * times;
    curves.push_back(
        Training(std::to_string(setting.words) + " words, " + ClippingAndNoise(setting), setting));
  };
  for (const double clip : Thinned({15, 10, 20}, size.every_nth)) add(clip, 0);
  for (const double users : Thinned({1250, 5000}, size.every_nth)) add(kPaperClip, users);
  return OverRounds(title, curves,
                    kSimulated +
                        "The paper: a larger dictionary brings a modest gain and needs no other "
                        "clipping or noise.");
}

// A curve over its training's rounds.
FigureCurve PlotOverRounds(const TrainingCurve& curve, const FederatedRuns& runs) {
  const FederatedSetting& setting = curve.points.front().setting;
  const FederatedRun& run = runs.at(setting);
  FigureCurve plotted = {.name = curve.name, .guarantee = PromiseOf(setting, run)};
  for (const FederatedEvaluation& evaluation : run.evaluations) {
    plotted.points.push_back(
        {.x = static_cast<double>(evaluation.round), .y = 100 * evaluation.smoothed_accuracy_top1});
  }
  return plotted;
}

// A curve over its values, after a share of every training's rounds.
FigureCurve PlotOverValues(const TrainingCurve& curve, double share, const FederatedRuns& runs) {
  FigureCurve plotted;
  for (const auto& [x, setting] : curve.points) {
    const double rounds = std::ceil(share * static_cast<double>(setting.rounds));
    plotted.name = (curve.name.empty() ? "" : curve.name + ", ") + "after " +
                   std::to_string(static_cast<std::int64_t>(rounds)) + " rounds";
    plotted.guarantee = PromiseOf(setting, runs.at(setting));
    plotted.points.push_back({.x = x, .y = PercentAt(runs.at(setting), rounds)});
  }
  return plotted;
}

Figure PlotStudy(const FederatedStudy& study, const FederatedRuns& runs) {
  Figure figure = study.figure;
  for (const TrainingCurve& curve : study.curves) {
    if (study.is_over_rounds) {
      figure.curves.push_back(PlotOverRounds(curve, runs));
      continue;
    }
    for (const double share : study.shares) {
      figure.curves.push_back(PlotOverValues(curve, share, runs));
    }
  }
  if (study.level.has_value()) {
    const FederatedRun& run = runs.at(*study.level);
    figure.curves.push_back({.name = study.level_name + ", at the end",
                             .guarantee = PromiseOf(*study.level, run),
                             .is_level = true,
                             .points = {{.y = PercentAt(run)}}});
  }
  return figure;
}

// Every training of a figure, by the curve's name and its place on the axis.
NamedTrainings TrainingsOf(const FederatedStudy& study) {
  NamedTrainings trainings;
  for (const TrainingCurve& curve : study.curves) {
    for (const auto& [x, setting] : curve.points) {
      std::string name = curve.name;
      if (!study.is_over_rounds) {
        name += (name.empty() ? "" : ", ") + study.figure.x_label + " " + ShortNumber(x);
      }
      trainings.push_back({name, setting});
    }
  }
  if (study.level.has_value()) trainings.push_back({study.level_name, *study.level});
  return trainings;
}

using Page = std::function<base::StatusOr<FigurePage>(
    const std::string& name, const FederatedSize& size, const FederatedModelSource& source)>;

base::StatusOr<FigurePage> RunStudy(const FederatedStudy& study,
                                    const FederatedModelSource& source) {
  const NamedTrainings trainings = TrainingsOf(study);
  SUBMIX_ASSIGN_OR_RETURN(const FederatedRuns runs, TrainAll(trainings, source));
  Findings findings = {study.reading, "paper", nlohmann::ordered_json::array()};
  HtmlTable table({"AccuracyTop1, %", "paper", "ours"});
  for (const PaperNumber& number : study.paper) {
    const auto curve = std::ranges::find(study.curves, number.curve, &TrainingCurve::name);
    const double ours = PercentAt(runs.at(curve->points.back().setting));
    table.Row({number.what, number.value, ours});
    findings.json.push_back(
        {{"what", number.what}, {"paper", number.value}, {"ours", JsonNumber(ours)}});
  }
  findings.html = study.paper.empty()
                      ? HtmlParagraph("The paper prints no numbers for this figure.")
                      : table.HtmlUnder("The paper's numbers beside ours");
  return PageOf(PlotStudy(study, runs), findings, trainings, runs);
}

Page RunOf(const std::function<FederatedStudy(const FederatedSize&)>& figure) {
  return [figure](const std::string& name, const FederatedSize& size,
                  const FederatedModelSource& source) {
    FederatedStudy study = figure(size);
    study.figure.name = name;
    return RunStudy(study, source);
  };
}

const std::vector<std::pair<std::string, Page>> kPages = {
    {"dp-fedavg-fig1", RunOf(Figure1)},
    {"dp-fedavg-fig2", RunOf(Figure2)},
    {"dp-fedavg-fig3", RunOf(Figure3)},
    {"dp-fedavg-fig4", RunOf(Figure4)},
    {"dp-fedavg-fig5", RunOf(Figure5)},
    {"dp-fedavg-fig6", RunOf(Figure6)},
    {"dp-fedavg-fig7", RunOf(Figure7)},
    {"dp-fedavg-fig8", RunOf(Figure8)},
    {"dp-fedavg-fig9", RunOf(Figure9)},
    {"dp-fedavg-fig10", RunOf(Figure10)},
    {"dp-fedavg-fig11", RunOf([](const FederatedSize& size) {
       return LargerDictionary(size, "DP-FedAvg, Figure 11: a dictionary twice as large", 2);
     })},
    {"dp-fedavg-fig12", RunOf([](const FederatedSize& size) {
       return LargerDictionary(size, "DP-FedAvg, Figure 12: a dictionary three times as large", 3);
     })},
    {"dp-fedavg-table1", FederatedTable1},
    {"dp-fedavg-table2", FederatedTable2},
    {"dp-fedavg-table3", FederatedTable3}};

}  // namespace

FederatedSetting Unclipped(const FederatedSize& size, double share_of_users) {
  FederatedSetting setting;
  setting.words = size.words;
  setting.rounds = size.rounds;
  setting.expected_users = std::min(share_of_users * size.users_per_round, size.population);
  return setting;
}

FederatedSetting Baseline(const FederatedSize& size) {
  FederatedSetting setting = Unclipped(size);
  setting.average = UpdateAverage::kTrue;
  setting.fixed_size_sample = true;
  return setting;
}

FederatedSetting Noisy(const FederatedSize& size, double clip_norm, double simulated_users) {
  FederatedSetting setting = Unclipped(size);
  setting.clip_norm = clip_norm;
  setting.simulated_users = simulated_users;
  return setting;
}

// Half the users, four times the rounds of FedAvg.
FederatedSetting FedSgd(const FederatedSize& size, double clip_norm, double simulated_users) {
  FederatedSetting setting = Unclipped(size, 0.5);
  setting.is_fedsgd = true;
  setting.rounds = Rounds(4, size);
  setting.clip_norm = clip_norm;
  setting.simulated_users = simulated_users;
  return setting;
}

FederatedSetting Private(const FederatedSize& size, bool is_fedsgd) {
  FederatedSetting setting = Unclipped(size);
  setting.is_fedsgd = is_fedsgd;
  setting.clip_norm = is_fedsgd ? kFedSgdClip : kPaperClip;
  setting.noise_multiplier = 1;
  setting.expected_users = std::min(size.private_users_per_round, size.population);
  return setting;
}

std::vector<std::string> FederatedNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kPages) names.push_back(name);
  return names;
}

bool NeedsTraining(const std::string& name) { return name != "dp-fedavg-table1"; }

base::StatusOr<FigurePage> MakeFederatedPage(const std::string& name, const FederatedSize& size,
                                             const FederatedModelSource& source) {
  for (const auto& [candidate, make] : kPages) {
    if (candidate == name) return make(name, size, source);
  }
  return UnknownFigure(name, FederatedNames());
}

}  // namespace submix::eval

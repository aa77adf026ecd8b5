#include "submix/eval/figures/federated_figures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "submix/eval/pages/html_page.h"

namespace submix::eval {
namespace {

constexpr double kNoClipping = std::numeric_limits<double>::infinity();
constexpr double kPaperClip = 15;  // S of the paper's experiments
constexpr double kFedSgdClip = 20;
constexpr double kScheduleUsers = 1667;  // noise of S / 1667: .006 at S = 10
// Of a figure's rounds: 6,000 follow on the first 4,885.
constexpr double kLateShare = 6000.0 / 4885;
constexpr double kFedSgdRounds = 4;  // as many as FedAvg's
constexpr double kFedSgdUsers = 0.5;

constexpr char kWhatDiffers[] =
    "The paper trains on 763,430 Reddit users, ours are those named below, and the trainings are "
    "of "
    "the size that stands below; order and slope of curves compare, absolute accuracies do not. ";
constexpr char kSimulated[] =
    "Noise is that of a larger number of users a round at z = 1, on the average of fewer: the "
    "paper's own estimate, which promises nothing for the model that was trained. ";

// Makes settings of one size. Immutable.
class SettingMaker {
 public:
  explicit SettingMaker(const FederatedSize& size) : size_(size) {}

  FederatedSetting Unclipped(double share_of_users = 1) const {
    FederatedSetting setting;
    setting.words = size_.words;
    setting.rounds = size_.rounds;
    setting.expected_users = Users(share_of_users * size_.users_per_round);
    return setting;
  }
  FederatedSetting Baseline() const {
    FederatedSetting setting = Unclipped();
    setting.average = UpdateAverage::kTrue;
    setting.fixed_size_sample = true;
    return setting;
  }
  FederatedSetting Noisy(double clip_norm, double simulated_users) const {
    FederatedSetting setting = Unclipped();
    setting.clip_norm = clip_norm;
    setting.simulated_users = simulated_users;
    return setting;
  }
  FederatedSetting FedSgd(double clip_norm, double simulated_users) const {
    FederatedSetting setting = Unclipped(kFedSgdUsers);
    setting.is_fedsgd = true;
    setting.rounds = Rounds(kFedSgdRounds);
    setting.clip_norm = clip_norm;
    setting.simulated_users = simulated_users;
    return setting;
  }
  FederatedSetting Private(bool is_fedsgd) const {
    FederatedSetting setting = Unclipped();
    setting.is_fedsgd = is_fedsgd;
    setting.clip_norm = is_fedsgd ? kFedSgdClip : kPaperClip;
    setting.noise_multiplier = 1;
    setting.expected_users = Users(size_.private_users_per_round);
    return setting;
  }
  FederatedSetting Late(double clip_norm) const {
    FederatedSetting setting = Noisy(clip_norm, kScheduleUsers);
    setting.rounds = Rounds(kLateShare);
    setting.earlier_clip_norm = 10;
    setting.earlier_rounds = size_.rounds;
    return setting;
  }
  FederatedSetting WithWords(FederatedSetting setting, int times) const {
    setting.words = size_.words * times;
    return setting;
  }

  std::int64_t Rounds(double share) const {
    return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(size_.rounds)));
  }
  double Users(double users) const { return std::min(users, size_.population); }

  // `values` thinned; the first always stays.
  std::vector<double> Values(const std::vector<double>& values) const {
    std::vector<double> kept;
    for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(size_.every_nth)) {
      kept.push_back(values[i]);
    }
    return kept;
  }
  FederatedCurve Over(const std::string& name, const std::vector<double>& values,
                      const std::function<FederatedSetting(double)>& setting) const {
    FederatedCurve curve = {name};
    for (const double value : Values(values)) curve.points.push_back({value, setting(value)});
    std::ranges::sort(curve.points, {}, &FederatedPoint::x);
    return curve;
  }

 private:
  const FederatedSize size_;
};

FederatedCurve Training(const std::string& name, const FederatedSetting& setting) {
  return {name, {{0, setting}}};
}

FederatedFigure OverRounds(const std::string& title, std::vector<FederatedCurve> curves) {
  FederatedFigure figure;
  figure.title = title;
  figure.x_label = "rounds";
  figure.is_over_rounds = true;
  figure.curves = std::move(curves);
  return figure;
}

FederatedFigure OverValues(const std::string& title, const std::string& x_label,
                           std::vector<FederatedCurve> curves) {
  FederatedFigure figure;
  figure.title = title;
  figure.x_label = x_label;
  figure.shares = {0.25, 0.5, 1};
  figure.curves = std::move(curves);
  return figure;
}

FederatedFigure Figure1(const SettingMaker& make) {
  FederatedFigure figure =
      OverRounds("DP-FedAvg, Figure 1: clipping and noise against the baseline",
                 {Training("baseline: fixed sample, true average", make.Baseline())});
  for (const auto& [clip, users] : {std::pair{15.0, 5000.0}, {10.0, 1667.0}, {15.0, 1250.0}}) {
    const FederatedSetting setting = make.Noisy(clip, users);
    figure.curves.push_back(Training(ClippingAndNoise(setting), setting));
  }
  figure.paper = {{"baseline, 5,000 rounds", 17.62, figure.curves[0].name},
                  {"S = 15, noise .003", 17.49, figure.curves[1].name},
                  {"S = 10, noise .006", 17.04, figure.curves[2].name},
                  {"S = 15, noise .012", 16.33, figure.curves[3].name}};
  figure.reading = std::string(kWhatDiffers) + kSimulated +
                   "The paper: S = 15 with noise .003 nearly meets the baseline; more noise falls "
                   "below it as training goes on.";
  return figure;
}

FederatedFigure Figure2(const SettingMaker& make) {
  const std::vector<double> values = {15, 1, 5, 20, 10, 30};
  const auto clipped = [&](bool per_layer) {
    return make.Over(per_layer ? "per layer" : "flat", values, [&](double clip) {
      FederatedSetting setting = make.Noisy(clip, 0);
      setting.per_layer = per_layer;
      return setting;
    });
  };
  FederatedFigure figure = OverValues("DP-FedAvg, Figure 2: flat and per-layer clipping",
                                      "clipping norm S", {clipped(false), clipped(true)});
  figure.shares = {0.25, 1};
  figure.level = make.Unclipped();
  figure.level_name = "no clipping";
  figure.reading = std::string(kWhatDiffers) +
                   "The paper: S between 15 and 20 has at most a small effect on convergence, flat "
                   "or per layer.";
  return figure;
}

// The noise of so many users a round at z = 1, as an axis.
FederatedCurve OverNoise(const SettingMaker& make, const std::vector<double>& users,
                         const std::function<FederatedSetting(double users)>& setting) {
  FederatedCurve curve = make.Over("", users, setting);
  for (FederatedPoint& point : curve.points) point.x = NoiseDeviation(point.setting);
  std::ranges::reverse(curve.points);
  return curve;
}

FederatedFigure Figure3(const SettingMaker& make) {
  const auto noisy = [&](double users) { return make.Noisy(kPaperClip, users); };
  FederatedFigure figure = OverValues(
      "DP-FedAvg, Figure 3: noise at S = 15", "standard deviation of the noise on the average",
      {OverNoise(make, {1250, 625, 100, 5000, 2500, 312.5}, noisy)});
  figure.log_x = true;
  figure.level = make.Noisy(kPaperClip, 0);
  figure.level_name = "no noise";
  figure.reading =
      std::string(kWhatDiffers) + kSimulated +
      "The paper: hardly any loss up to .024 early in training, later a small one past "
      ".012. Noise of .15 is what 100 users a round would need for z = 1, and destroys "
      "accuracy.";
  return figure;
}

constexpr char kScheduleReading[] =
    "Noise follows S, S / 1,667 (.006 at S = 10), so that every round would cost the same. The "
    "paper: in the first 4,885 rounds S from 10 to 12.6 is best, in the 6,000 that follow S = 7.9 "
    "with noise .0048 is.";

FederatedFigure Figure4(const SettingMaker& make) {
  const std::vector<double> values = {10, 5, 12.6, 7.9, 20};
  FederatedFigure figure = OverValues(
      "DP-FedAvg, Figure 4: clipping and noise, early and late", "clipping norm S",
      {make.Over("early", values, [&](double s) { return make.Noisy(s, kScheduleUsers); }),
       make.Over("late, from the model of S = 10", values,
                 [&](double s) { return make.Late(s); })});
  figure.shares = {1};
  figure.reading = std::string(kWhatDiffers) + kSimulated + kScheduleReading;
  return figure;
}

FederatedFigure Figure8(const SettingMaker& make) {
  FederatedFigure figure =
      OverRounds("DP-FedAvg, Figure 8: the rounds after clipping and noise were adjusted", {});
  for (const double clip : make.Values({10, 5, 12.6, 7.9, 20})) {
    const FederatedSetting setting = make.Late(clip);
    figure.curves.push_back(Training(ClippingAndNoise(setting), setting));
  }
  figure.x_label = "rounds after the change";
  figure.reading = std::string(kWhatDiffers) + kSimulated + kScheduleReading;
  return figure;
}

FederatedFigure Figure5(const SettingMaker& make) {
  FederatedSetting random_true = make.Baseline();
  random_true.fixed_size_sample = false;
  FederatedSetting clipped = random_true;
  clipped.average = UpdateAverage::kClippedDivisor;
  FederatedFigure figure = OverRounds("DP-FedAvg, Figure 5: estimators and sampling",
                                      {Training("fixed sample, true average", make.Baseline()),
                                       Training("random sample, true average", random_true),
                                       Training("random sample, clipped divisor", clipped),
                                       Training("random sample, fixed divisor", make.Unclipped())});
  figure.reading = std::string(kWhatDiffers) +
                   "The paper: none of the changes matters for convergence. A sample of fixed size "
                   "is research: the accountant's statement is for users who take part "
                   "independently and does not cover it, so no epsilon is printed for it.";
  return figure;
}

FederatedFigure Figure6(const SettingMaker& make) {
  FederatedFigure figure = OverRounds("DP-FedAvg, Figure 6: users a round", {});
  for (const double share : make.Values({1, 0.2, 5, 2})) {
    const FederatedSetting setting = make.Unclipped(share);
    // More than there are is all of them, once.
    const bool is_new = std::ranges::none_of(figure.curves, [&](const FederatedCurve& curve) {
      return curve.points.front().setting == setting;
    });
    if (!is_new) continue;
    figure.curves.push_back(
        Training(ShortNumber(setting.expected_users) + " users a round", setting));
  }
  figure.reading = std::string(kWhatDiffers) +
                   "No clipping, no noise. The paper: more users a round bring less and less.";
  return figure;
}

FederatedFigure Figure7(const SettingMaker& make) {
  const FederatedSetting large = make.Private(/*is_fedsgd=*/false);
  const FederatedSetting few = make.Noisy(kPaperClip, large.expected_users);
  const auto name = [](const FederatedSetting& setting, const char* kind) {
    return ShortNumber(setting.expected_users) + " users a round, " + kind;
  };
  FederatedFigure figure = OverRounds(
      "DP-FedAvg, Figure 7: the same noise with few and many users a round",
      {Training(name(few, "noise simulated"), few), Training(name(large, "private"), large)});
  figure.reading =
      std::string(kWhatDiffers) +
      "S = 15 and, with 1,250 users, noise .012 in both. The paper: the curves are nearly the "
      "same, "
      "so few users tell the accuracy that many would give; with 763,430 users the second is "
      "(1.976, 1e-9)-DP after 3,000 rounds. Our epsilon is that of the users who are there.";
  return figure;
}

constexpr char kFedSgdReading[] =
    "Half as many users a round as for FedAvg, four times the rounds. The paper: the ratio of "
    "clipping to noise has the effect that it has for FedAvg, and many more rounds are needed.";

FederatedFigure Figure9(const SettingMaker& make) {
  FederatedFigure figure = OverValues(
      "DP-FedAvg, Figure 9: clipping of FedSGD", "clipping norm S",
      {make.Over("", {20, 5, 10, 2}, [&](double clip) { return make.FedSgd(clip, 0); })});
  figure.level = make.FedSgd(kNoClipping, 0);
  figure.level_name = "no clipping";
  figure.reading = std::string(kWhatDiffers) + kFedSgdReading;
  return figure;
}

FederatedFigure Figure10(const SettingMaker& make) {
  const auto noisy = [&](double users) { return make.FedSgd(kFedSgdClip, users); };
  FederatedFigure figure = OverValues("DP-FedAvg, Figure 10: noise of FedSGD at S = 20",
                                      "standard deviation of the noise on the average",
                                      {OverNoise(make, {2000, 200, 6667, 667}, noisy)});
  figure.log_x = true;
  figure.level = make.FedSgd(kFedSgdClip, 0);
  figure.level_name = "no noise";
  figure.reading = std::string(kWhatDiffers) + kSimulated + kFedSgdReading;
  return figure;
}

FederatedFigure LargerDictionary(const SettingMaker& make, const std::string& title, int times) {
  FederatedFigure figure =
      OverRounds(title, {Training(std::to_string(make.Unclipped().words) + " words, S = 15",
                                  make.Noisy(kPaperClip, 0))});
  const auto add = [&](const FederatedSetting& smaller) {
    const FederatedSetting setting = make.WithWords(smaller, times);
    figure.curves.push_back(
        Training(std::to_string(setting.words) + " words, " + ClippingAndNoise(setting), setting));
  };
  for (const double clip : make.Values({15, 10, 20})) add(make.Noisy(clip, 0));
  for (const double users : make.Values({1250, 5000})) add(make.Noisy(kPaperClip, users));
  figure.reading =
      std::string(kWhatDiffers) + kSimulated +
      "The paper: a larger dictionary brings a modest gain and needs no other clipping "
      "or noise.";
  return figure;
}

using Maker = FederatedFigure (*)(const SettingMaker&);
constexpr std::pair<const char*, Maker> kFigures[] = {
    {"dp-fedavg-fig1", Figure1},
    {"dp-fedavg-fig2", Figure2},
    {"dp-fedavg-fig3", Figure3},
    {"dp-fedavg-fig4", Figure4},
    {"dp-fedavg-fig5", Figure5},
    {"dp-fedavg-fig6", Figure6},
    {"dp-fedavg-fig7", Figure7},
    {"dp-fedavg-fig8", Figure8},
    {"dp-fedavg-fig9", Figure9},
    {"dp-fedavg-fig10", Figure10},
    {"dp-fedavg-fig11",
     [](const SettingMaker& make) {
       return LargerDictionary(make, "DP-FedAvg, Figure 11: a dictionary twice as large", 2);
     }},
    {"dp-fedavg-fig12",
     [](const SettingMaker& make) {
       return LargerDictionary(make, "DP-FedAvg, Figure 12: a dictionary three times as large", 3);
     }},
};

double Percent(double share) { return 100 * share; }

FigureCurve OverItsRounds(const FederatedCurve& curve, const FederatedRuns& runs) {
  const FederatedSetting& setting = curve.points.front().setting;
  const FederatedRun& run = runs.at(setting);
  FigureCurve drawn = {.name = curve.name, .guarantee = PromiseOf(setting, run)};
  for (const FederatedEvaluation& evaluation : run.evaluations) {
    drawn.points.push_back({.x = static_cast<double>(evaluation.round),
                            .y = Percent(evaluation.smoothed_accuracy_top1)});
  }
  return drawn;
}

FigureCurve OverItsValues(const FederatedCurve& curve, double share, const FederatedRuns& runs) {
  FigureCurve drawn;
  for (const FederatedPoint& point : curve.points) {
    const FederatedRun& run = runs.at(point.setting);
    const double rounds = std::ceil(share * static_cast<double>(point.setting.rounds));
    drawn.name = (curve.name.empty() ? "" : curve.name + ", ") + "after " +
                 std::to_string(static_cast<std::int64_t>(rounds)) + " rounds";
    drawn.guarantee = PromiseOf(point.setting, run);
    drawn.points.push_back(
        {.x = point.x, .y = Percent(EvaluationAt(run, rounds).smoothed_accuracy_top1)});
  }
  return drawn;
}

}  // namespace

const std::vector<std::string>& FederatedFigureNames() {
  static const auto* const names = [] {
    auto* made = new std::vector<std::string>;
    for (const auto& [name, maker] : kFigures) made->push_back(name);
    return made;
  }();
  return *names;
}

base::StatusOr<FederatedFigure> MakeFederatedFigure(const std::string& name,
                                                    const FederatedSize& size) {
  std::string known;
  for (const auto& [known_name, maker] : kFigures) {
    if (name == known_name) {
      FederatedFigure figure = maker(SettingMaker(size));
      figure.name = name;
      return figure;
    }
    known += (known.empty() ? "" : ", ") + std::string(known_name);
  }
  return base::NotFoundError("there is no figure \"" + name + "\"; known: " + known);
}

FederatedBaselines::FederatedBaselines(const FederatedSize& size)
    : fedavg(SettingMaker(size).Baseline()),
      fedsgd(SettingMaker(size).FedSgd(kNoClipping, 0)),
      dp_fedavg(SettingMaker(size).Private(/*is_fedsgd=*/false)),
      dp_fedsgd(SettingMaker(size).Private(/*is_fedsgd=*/true)),
      fixed_divisor_(SettingMaker(size).Unclipped()) {}

FederatedSetting FederatedBaselines::Noisy(double clip_norm, double simulated_users) const {
  FederatedSetting setting = fixed_divisor_;
  setting.clip_norm = clip_norm;
  setting.simulated_users = simulated_users;
  return setting;
}

Figure DrawnFigure(const FederatedFigure& figure, const FederatedRuns& runs) {
  Figure drawn;
  drawn.name = figure.name;
  drawn.title = figure.title;
  drawn.x_label = figure.x_label;
  drawn.y_label = "AccuracyTop1 on held-out users, %";
  drawn.log_x = figure.log_x;
  for (const FederatedCurve& curve : figure.curves) {
    if (figure.is_over_rounds) {
      drawn.curves.push_back(OverItsRounds(curve, runs));
      continue;
    }
    for (const double share : figure.shares) {
      drawn.curves.push_back(OverItsValues(curve, share, runs));
    }
  }
  if (figure.level.has_value()) {
    const FederatedRun& run = runs.at(*figure.level);
    drawn.curves.push_back(
        {.name = figure.level_name + ", at the end",
         .guarantee = PromiseOf(*figure.level, run),
         .is_level = true,
         .points = {{.y = Percent(run.evaluations.back().smoothed_accuracy_top1)}}});
  }
  return drawn;
}

}  // namespace submix::eval

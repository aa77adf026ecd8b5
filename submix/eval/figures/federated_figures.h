// The figures of McMahan et al. 2018 (DP-FedAvg) as data: which models are trained, over what their
// accuracy is drawn, what the paper found. Trainings are shared: equal settings are one training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/federated_setting.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

// How large the trainings are. The paper's is the default.
struct FederatedSize {
  std::int64_t rounds = 5000;
  double users_per_round = 100;  // C~, expected
  // Of Figure 7's private training and of Table 2's own rows.
  double private_users_per_round = 1250;
  int words = 10000;
  double population = 763430;  // more cannot take part in a round
  int every_nth = 1;           // of the values on an axis
};

struct FederatedPoint {
  double x = 0;  // without meaning over rounds
  FederatedSetting setting;
};

struct FederatedCurve {
  std::string name = {};
  std::vector<FederatedPoint> points = {};  // one, if the figure is over rounds
};

// An AccuracyTop1 that the paper prints. Ours is the last one of the curve.
struct PaperAccuracy {
  std::string what = {};
  double percent = 0;
  std::string curve = {};
};

struct FederatedFigure {
  std::string name = {};  // as on the command line
  std::string title = {};
  std::string x_label = {};
  bool log_x = false;
  // true: a curve is one training, drawn over its rounds. false: a curve is drawn once for every
  // share, after so much of its rounds.
  bool is_over_rounds = false;
  std::vector<double> shares = {};
  std::vector<FederatedCurve> curves = {};
  // A dashed line at the last accuracy of this training.
  std::optional<FederatedSetting> level = {};
  std::string level_name = {};
  std::vector<PaperAccuracy> paper = {};
  std::string reading = {};  // what the paper found and what differs, in sentences
};

// "dp-fedavg-fig1" … "dp-fedavg-fig12".
const std::vector<std::string>& FederatedFigureNames();

// Errors: kNotFound, listing the names.
base::StatusOr<FederatedFigure> MakeFederatedFigure(const std::string& name,
                                                    const FederatedSize& size);

// The trainings of Tables 2 and 3.
struct FederatedBaselines {
  explicit FederatedBaselines(const FederatedSize& size);

  FederatedSetting fedavg;     // no clipping, no noise, a fixed number of users
  FederatedSetting fedsgd;     // no clipping, no noise
  FederatedSetting dp_fedavg;  // private
  FederatedSetting dp_fedsgd;  // private
  // Clipped to S with the noise of so many users a round, simulated.
  FederatedSetting Noisy(double clip_norm, double simulated_users) const;

 private:
  FederatedSetting fixed_divisor_;
};

// The curves that the trainings gave. Requires: a run for every setting of the figure.
Figure DrawnFigure(const FederatedFigure& figure, const FederatedRuns& runs);

}  // namespace submix::eval

// One figure or table of a paper as data: which ensembles are trained, what is asked of them, what
// the paper found. All settings of one ensemble are scored in one pass over its models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/eval/measuring/privacy_loss.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

// What an ensemble of the experiment's corpus looks like; everything else is the recipe's.
struct EnsembleShape {
  int num_parts = 8;
  int halves = 1;

  auto operator<=>(const EnsembleShape&) const = default;
};

// What a point states where that is not the budget that its setting declares.
struct StatedPromise {
  std::string unit = "part";  // or "user"
  std::string order = {};     // a Rényi order, or "delta=1e-05"
  double epsilon = 0;
};

struct ExperimentPoint {
  double x = 0;
  EvaluationSetting setting;
  std::optional<StatedPromise> stated = {};
};

struct ExperimentCurve {
  std::string name = {};
  EnsembleShape ensemble;
  std::vector<ExperimentPoint> points = {};
  // What its x really promises, if that is not what its mechanism promises at this cost; such a
  // curve is not sound.
  std::string guarantee = {};
};

// A model that is itself trained with differential privacy (DP-SGD), user by user: asked without
// limit, so that the number of answers does not move it.
struct PrivateTraining {
  std::string curve = {};
  std::optional<double> x = {};  // none: a level
  int epochs = 1;                // expected passes over the text
  double order = 2;
  double epsilon = 0;  // nats at the order, at most
};

// Such a model.
struct PrivatelyTrained {
  std::string directory = {};        // of an ensemble with one member
  double epsilon_spent = 0;          // nats at the order
  accounting::EpsilonDelta promise;  // the same as (epsilon, delta), by the best order
  std::int64_t steps = 0;
  std::string guarantee = {};  // in one line
};

// A number that the paper prints. Ours is the perplexity of a curve at x, or of a level.
struct PaperNumber {
  std::string what = {};
  double value = 0;
  std::string curve = {};  // empty: nothing of ours to set beside it
  double x = 0;            // without meaning for levels
};

struct Experiment {
  std::string name = {};  // as on the command line
  std::string title = {};
  std::string x_label = {};
  bool log_x = true;
  bool log_y = false;
  // Drawn is what is kept of the non-private improvement, over the number of parts.
  bool draws_kept = false;
  // Each point with the standard deviation of a run.
  bool draws_spread = false;
  // The privacy cost that was spent, not what was declared, is the horizontal axis.
  bool x_is_spent = false;
  std::vector<ExperimentCurve> curves = {};
  // Scored where the reference ensemble is.
  std::vector<PrivateTraining> private_trainings = {};
  // The ensemble whose members give the levels: public model, single member, ensemble, fine-tuned.
  EnsembleShape reference;
  int runs = 4;             // of the settings with the most queries
  int most_runs = 1 << 30;  // of the others (EvaluationPlan)
  std::vector<PaperNumber> paper = {};
  std::string reading = {};  // what differs from the paper, in sentences
};

// What an experiment needs from the outside.
struct Workshop {
  // The directory of a complete ensemble of this shape; trains it first if there is none. A shape
  // of one part and one half is the non-private model.
  std::function<base::StatusOr<std::string>(const EnsembleShape&)> train;
  // Trains such a model, if there is none yet.
  std::function<base::StatusOr<PrivatelyTrained>(const PrivateTraining&)> train_privately;
  // The ensemble's members, then those of `extra` ensembles, as one predictor.
  std::function<base::StatusOr<std::unique_ptr<ensemble::Predictor>>(
      const std::string& directory, const std::vector<std::string>& extra)>
      load;
  // Over what these ensembles' logits depend on.
  std::function<base::StatusOr<base::Sha256Digest>(const std::vector<std::string>& directories)>
      models_digest;
  HeldoutBlocks heldout = {};
  std::string checkpoint_directory = {};  // finished runs are kept here
  std::uint64_t seed = 0;
};

struct ExperimentRow {
  std::string curve = {};
  EnsembleShape ensemble;
  double x = 0;
  StatedPromise stated;
  SettingResult result;
  Baselines baselines;  // on the same positions
  KeptShare kept;       // of what the fine-tuned model gains
  std::optional<PrivacyLoss> loss = {};
  bool is_sound = false;       // proven for every data set
  std::string guarantee = {};  // what is promised, with its labels, in one line
};

struct PrivateModelRow {
  PrivateTraining asked;
  PrivatelyTrained trained;
  PerplexityRuns perplexity;  // on the positions of the levels
};

struct ExperimentResult {
  std::vector<ExperimentRow> rows = {};  // curve by curve, as in the experiment
  std::vector<PrivateModelRow> private_models = {};
  Baselines levels;  // of the reference ensemble, with the most queries
};

// A line for the model without privacy and for every one with it:
// method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds. `model` names the public model;
// rounds are steps.
std::string PrivateTrainingCsv(const ExperimentResult& result, const std::string& model);

// Trains, scores and collects. Errors: the workshop's and Evaluate's; then everything finished is
// kept, and the same call goes on after it.
base::StatusOr<ExperimentResult> RunExperiment(const Experiment& experiment,
                                               const Workshop& workshop);

// The experiment's figure: a curve each, and the levels. If it draws what is kept: a curve for each
// mechanism, promise at its order and number of answers that keeps anything.
Figure FigureOf(const Experiment& experiment, const ExperimentResult& result);

// Everything for machines: every option and every run of every row, the levels, the provenance.
// JSON.
std::string ExperimentJson(const Experiment& experiment, const ExperimentResult& result,
                           const Provenance& provenance);

// The share of the non-private improvement that each row keeps, with its interval. CSV of
// mechanism,k,adapters,unit,order,epsilon,queries,sound,public,private,non_private,kept,kept_low,
// kept_high. `adapters` says how members were made; no comma in it.
std::string KeptCsv(const ExperimentResult& result, const std::string& adapters);

// The non-private models: name and perplexities.
std::vector<std::pair<std::string, PerplexityRuns>> LevelsOf(const Baselines& baselines);

// What we have for a number of the paper, if anything.
std::optional<double> OursFor(const PaperNumber& number, const ExperimentResult& result);

}  // namespace submix::eval

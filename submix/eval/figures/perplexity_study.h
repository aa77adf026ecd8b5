// Studies of perplexity: which ensembles are trained, what is asked of them. All settings of one
// ensemble are scored in one pass over its models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/digest.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/figures/study.h"
#include "submix/eval/measuring/evaluation.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

// What an ensemble of the study's corpus looks like; everything else is the recipe's.
struct EnsembleShape {
  int num_parts = 8;
  int halves = 1;

  auto operator<=>(const EnsembleShape&) const = default;
};

// Printed with a point instead of the budget that its setting declares.
struct StatedPromise {
  std::string unit = "part";  // or "user"
  std::string order = {};     // a Rényi order, or "delta=1e-05"
  double epsilon = 0;
};

struct EnsembleSetting {
  EnsembleShape ensemble;
  EvaluationSetting asked;
  std::optional<StatedPromise> stated = {};
  // Printed instead of what the mechanism promises, where the paper counts x differently; such a
  // point is not sound.
  std::string guarantee = {};
};

// A model that is itself trained with differential privacy (DP-SGD), user by user: asked without
// limit, so that the number of tokens does not move it.
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
  accounting::EpsilonBound promise;  // the same as (epsilon, delta), by the best order
  std::int64_t steps = 0;
  std::string guarantee = {};  // in one line
};

// `paper`: ours is a perplexity.
struct PerplexityStudy : Study<EnsembleSetting> {
  // Plotted is what is kept of the non-private improvement, over the number of parts.
  bool plots_kept = false;
  // Each point with the standard deviation of a run.
  bool plots_spread = false;
  // The privacy cost that was spent, not what was declared, is the horizontal axis.
  bool x_is_spent = false;
  // Scored where the reference ensemble is.
  std::vector<PrivateTraining> private_trainings = {};
  // The ensemble whose members give the levels: public model, single member, ensemble, fine-tuned.
  EnsembleShape reference;
  int runs = 4;             // of the settings with the most tokens
  int most_runs = 1 << 30;  // of the others (EvaluationPlan)
};

// Where a study's models come from, and the text that they are scored on.
struct ModelSource {
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
  HeldoutText heldout = {};
  std::string checkpoint_directory = {};  // finished runs are kept here
  std::uint64_t seed = 0;
  // For the files: how it all was made, the public model's name, and how members were made.
  Provenance provenance = {};
  std::string public_model = {};
  std::string adapters = {};
};

// Trains, scores and collects: a curve each and the levels, or, of what is kept, a curve for each
// mechanism, promise at its order and number of tokens that keeps anything. Files beside:
//   NAME.kept.csv, the share of the non-private improvement that each point keeps, with its
//     interval: mechanism,k,adapters,unit,order,epsilon,queries,sound,public,private,non_private,
//     kept,kept_low,kept_high;
//   NAME.private_training.csv, if there is any, a line for the model without privacy and for every
//     one with it: method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds (steps).
// Errors: the source's and Evaluate's; then everything finished is kept, and the same call goes on
// after it.
base::StatusOr<FigurePage> RunPerplexityStudy(const PerplexityStudy& study,
                                              const ModelSource& source);

// What AdaPMixED's privacy loss is made of, as in its paper's table.
struct PrivacyLoss {
  double answers = 0;     // nats at the setting's order, of the part that spent most
  double screen = 0;      // the same: every token is screened
  double conversion = 0;  // what (epsilon, delta) adds
  double delta = 1e-5;

  double epsilon() const { return answers + screen + conversion; }
};

// None for another mechanism. Errors: those of the conversion.
base::StatusOr<std::optional<PrivacyLoss>> PrivacyLossOf(const SettingResult& result);

}  // namespace submix::eval

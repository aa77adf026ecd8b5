#include "submix/workbench/papers/private_models.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "submix/accounting/calculators/step_budget.h"
#include "submix/accounting/subsampled_gaussian_rdp.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/corpus/user_records.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/train/recipes/training_options_table.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

constexpr double kPlannedDelta = 1e-5;
constexpr double kRoomForRounding = 1.001;

// What the whole training costs as (epsilon, delta). Steps that an interruption loses are missing
// in the model, not spent beside it.
StatusOr<accounting::EpsilonBound> TargetFor(const accounting::SubsampledGaussianRun& step,
                                             std::int64_t steps) {
  constexpr double kAmple = 8000;
  SUBMIX_ASSIGN_OR_RETURN(const accounting::StepBudget ample,
                          accounting::StepBudget::Plan(step, {kAmple, kPlannedDelta}));
  const double whole = ample.EpsilonAfter(steps).epsilon;
  return accounting::EpsilonBound{std::min(kRoomForRounding * whole, kAmple), kPlannedDelta};
}

StatusOr<std::int64_t> CountUsers(const std::string& corpus) {
  std::set<std::string> users;
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(corpus, [&](const corpus::UserRecord& record) {
    users.insert(record.user);
    return base::OkStatus();
  }));
  return static_cast<std::int64_t>(users.size());
}

train::PrivateTrainingOptions TrainingOf(const PrivateModelRecipe& recipe, std::int64_t users) {
  train::PrivateTrainingOptions options;
  options.public_directory = recipe.public_directory;
  options.corpus = recipe.corpus;
  options.partition_key_path = recipe.partition_key_path;
  options.heldout_fraction = 0;
  options.training.lora = recipe.fine_tune.lora;
  options.training.block_tokens = recipe.fine_tune.block_tokens;
  options.training.clip_norm = recipe.options.clip;
  options.training.expected_batch = recipe.options.share * static_cast<double>(users);
  options.training.learning_rate.peak = recipe.options.learning_rate;
  options.training.adamw = recipe.fine_tune.adamw;
  options.training.blocks_at_a_time = 8;
  options.training.precision = recipe.fine_tune.precision;
  options.training.threads = recipe.fine_tune.threads;
  return options;
}

std::string DirectoryOf(const PrivateModelRecipe& recipe,
                        const train::PrivateTrainingOptions& options) {
  std::string all = recipe.sources;
  for (const auto& [name, value] : train::HyperParameters(recipe.fine_tune)) {
    all += name + " " + value + "\n";
  }
  for (const double number :
       {recipe.options.share, recipe.options.clip, recipe.options.learning_rate,
        options.noise_multiplier, static_cast<double>(options.training.steps)}) {
    all += train::ParameterText(number) + "\n";
  }
  return base::JoinPath(recipe.directory, "dp-sgd-" + base::ToHex(base::Sha256(all)).substr(0, 12));
}

}  // namespace

StatusOr<eval::PrivatelyTrained> TrainPrivateModel(const PrivateModelRecipe& recipe,
                                                   const eval::PrivateTraining& asked) {
  SUBMIX_ASSIGN_OR_RETURN(const auto order, divergence::RenyiOrder::Create(asked.order));
  SUBMIX_ASSIGN_OR_RETURN(const std::int64_t users, CountUsers(recipe.corpus));
  train::PrivateTrainingOptions options = TrainingOf(recipe, users);
  const double share = recipe.options.share;
  options.training.steps = std::max<std::int64_t>(1, std::llround(asked.epochs / share));
  SUBMIX_ASSIGN_OR_RETURN(
      options.noise_multiplier,
      accounting::NoiseForSteps(share, accounting::RdpBound{order, asked.epsilon},
                                options.training.steps));
  SUBMIX_ASSIGN_OR_RETURN(options.target,
                          TargetFor({share, options.noise_multiplier}, options.training.steps));
  options.ensemble_directory = DirectoryOf(recipe, options);
  const auto random = base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(const train::PrivateTrainingReport report,
                          train::TrainPrivately(options, *random, base::DetectProgressStyle()));
  return eval::PrivatelyTrained{
      options.ensemble_directory,
      static_cast<double>(report.steps_charged) *
          accounting::SubsampledGaussianRdp(report.sampling_probability, report.noise_multiplier,
                                            order),
      {report.epsilon, options.target.delta},
      report.steps,
      report.statement.Labels() +
          (report.units_were_counted ? "; the number of users counts as public" : "")};
}

}  // namespace submix::workbench

#include "submix/workbench/training/measured_times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "submix/base/cache_directory.h"
#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/processors.h"
#include "submix/base/progress_bar.h"
#include "submix/base/random.h"
#include "submix/decode/cpu_predictor.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/declaring/make_mechanism.h"
#include "submix/mechanism/declaring/recommended_options.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/training_speed.h"
#include "submix/train/private_training/dp_sgd_speed.h"
#include "submix/train/recipes/training_recipe.h"
#include "submix/workbench/models/open_models.h"
#include "submix/workbench/scratch_directory.h"
#include "submix/workbench/training/default_precision.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

constexpr int kMembers = 16;  // that answer, and that recipes are asked for
constexpr int kPromptTokens = 64;
constexpr int kAnswers = 8;
constexpr int kUpdates = 20;
constexpr double kSeconds = 2;
// Of a timed update or step, at most, so that each takes some seconds for a large model, too.
constexpr double kOperations = 5e11;
constexpr int kMostBlocks = 4;  // of a user's text in a private step

double MillisecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Adapters of the recipe that add zero, which costs what others cost.
StatusOr<std::vector<std::string>> WriteMembers(const std::string& public_directory,
                                                const train::FineTuneOptions& recipe,
                                                const std::string& directory) {
  std::vector<train::MemberTask> tasks(kMembers);
  std::vector<std::string> members;
  for (train::MemberTask& task : tasks) {
    task.output_directory = base::JoinPath(directory, std::to_string(members.size()));
    members.push_back(task.output_directory);
  }
  SUBMIX_RETURN_IF_ERROR(
      train::FineTuneMembers(public_directory, tasks, recipe, base::ProgressStyle::kSilent));
  return members;
}

// The fastest of some answers, since what else runs only slows: from one token to the law of the
// next, the charge counted and no token drawn.
StatusOr<double> TokenMilliseconds(const std::string& public_directory,
                                   const std::vector<std::string>& members) {
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadPredictor({}, public_directory, members, /*vocab_size=*/0));
  mechanism::MechanismOptions options;
  options.name = members.empty() ? "public" : "dclip";
  options.num_parts = std::max(1, static_cast<int>(members.size()));
  mechanism::Recommend(options.num_parts, kAnswers, options);
  options.target_leakage = 1.0 / kAnswers;
  SUBMIX_ASSIGN_OR_RETURN(auto mechanism, mechanism::MakeMechanism(options));
  SUBMIX_ASSIGN_OR_RETURN(
      auto deployment,
      eval::SimulatedDeployment::Create(
          {.mechanism = std::move(mechanism), .num_parts = options.num_parts, .epsilon = 8},
          base::MakeSystemRandomSource()));
  const auto vocabulary = static_cast<std::size_t>(predictor->vocab_size());
  std::vector<float> logits((1 + members.size()) * vocabulary);
  const std::span<const float> rows = logits;
  const std::vector<base::TokenId> prompt(
      static_cast<std::size_t>(std::min(kPromptTokens, predictor->context_length() - kAnswers)), 1);
  const ensemble::SequenceId sequence = predictor->Open();
  const std::vector<ensemble::Predictor::Append> first = {{sequence, prompt}};
  SUBMIX_RETURN_IF_ERROR(predictor->Step(first, logits));
  mechanism::MappedPredictions mapped;
  std::vector<double> times;
  for (int answer = 0; answer < kAnswers; ++answer) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<ensemble::Predictor::Append> next = {{sequence, std::span(prompt).first(1)}};
    SUBMIX_RETURN_IF_ERROR(predictor->Step(next, logits));
    SUBMIX_RETURN_IF_ERROR(mapped.Map(rows.first(vocabulary),
                                      members.empty() ? rows : rows.subspan(vocabulary),
                                      /*halves=*/1, {}));
    SUBMIX_RETURN_IF_ERROR(deployment.Answer(mapped.view(), 0).status());
    times.push_back(MillisecondsSince(begin));
  }
  return *std::ranges::min_element(times);
}

// Blocks of a user's text that a private step is timed with.
int BlocksAUser(double tokens_a_user, int block_positions) {
  const double blocks = std::ceil(tokens_a_user / block_positions);
  return static_cast<int>(std::min<double>(kMostBlocks, blocks));
}

// Batches of `positions`, of at most so many, that kOperations are enough for: six a weight and
// position.
StatusOr<int> BatchesInTime(const std::string& public_directory, int positions, int most) {
  decode::CpuPredictorOptions model;  // in bfloat16
  model.public_directory = public_directory;
  SUBMIX_ASSIGN_OR_RETURN(const auto memory, decode::CpuPredictor::Plan(model));
  const double weights = static_cast<double>(memory.weights) / 2;
  return static_cast<int>(std::clamp(kOperations / (6 * weights * positions), 1.0, 1.0 * most));
}

StatusOr<eval::MachineTimes> Measure(const std::string& public_directory, double tokens_a_user) {
  SUBMIX_ASSIGN_OR_RETURN(const model::DecoderConfig config, model::LoadConfigOf(public_directory));
  train::FineTuneOptions recipe = train::RecommendedRecipe(config, {.num_parts = kMembers});
  recipe.precision = DefaultTrainingPrecision();
  eval::MachineTimes times = {.block_positions = recipe.block_tokens - 1};
  SUBMIX_ASSIGN_OR_RETURN(recipe.members_at_a_time,
                          BatchesInTime(public_directory, recipe.batch_size * times.block_positions,
                                        recipe.members_at_a_time));
  const int users = 2 * base::AvailableProcessors();
  SUBMIX_ASSIGN_OR_RETURN(const int blocks_a_user,
                          BatchesInTime(public_directory, users * times.block_positions,
                                        BlocksAUser(tokens_a_user, times.block_positions)));
  SUBMIX_ASSIGN_OR_RETURN(const auto scratch, MakeScratchDirectory("plan", ""));
  base::ProgressBar progress("Measuring this machine", 4, "measurements");
  SUBMIX_ASSIGN_OR_RETURN(times.ensemble_positions_a_second,
                          train::PositionsASecond(public_directory, recipe, kUpdates, kSeconds,
                                                  base::JoinPath(*scratch, "trained")));
  progress.Advance(1);
  train::DpSgdOptions dp_sgd;
  static_cast<train::TrainingOptions&>(dp_sgd) =
      train::RecommendedPrivateRecipe(config, /*all_weights=*/false);
  dp_sgd.precision = recipe.precision;
  SUBMIX_ASSIGN_OR_RETURN(
      times.dp_sgd_positions_a_second,
      train::DpSgdPositionsASecond(public_directory, dp_sgd, users, blocks_a_user,
                                   base::JoinPath(*scratch, "dp-sgd")));
  progress.Advance(1);
  SUBMIX_ASSIGN_OR_RETURN(times.public_milliseconds, TokenMilliseconds(public_directory, {}));
  progress.Advance(1);
  SUBMIX_ASSIGN_OR_RETURN(const auto members, WriteMembers(public_directory, recipe,
                                                           base::JoinPath(*scratch, "members")));
  SUBMIX_ASSIGN_OR_RETURN(const double milliseconds, TokenMilliseconds(public_directory, members));
  times.member_milliseconds = std::max(0.0, milliseconds - times.public_milliseconds) / kMembers;
  progress.Advance(1);
  progress.Finish();
  return times;
}

// --- What was measured before

// Changes whenever what is measured, or how, does.
constexpr int kTimesFormat = 2;

// The processor's name, where the system says it.
std::string ProcessorName() {
  const auto text = base::ReadFile("/proc/cpuinfo");
  if (!text.ok()) return "";
  const std::size_t begin = text->find("model name");
  return begin == std::string::npos ? "" : text->substr(begin, text->find('\n', begin) - begin);
}

// Of this machine, a model of this shape, and users of about this much text.
StatusOr<std::string> TimesName(const std::string& public_directory, double tokens_a_user) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string config,
                          base::ReadFile(base::JoinPath(public_directory, "config.json")));
  SUBMIX_ASSIGN_OR_RETURN(const model::DecoderConfig shape, model::LoadConfigOf(public_directory));
  const int positions = train::RecommendedRecipe(shape, {.num_parts = kMembers}).block_tokens - 1;
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  const std::string key = std::to_string(kTimesFormat) + "\n" + ProcessorName() + "\n" +
                          std::to_string(base::AvailableProcessors()) + "\n" +
                          (threads == nullptr ? "" : threads) + "\n" +
                          std::to_string(BlocksAUser(tokens_a_user, positions)) + "\n" + config;
  return base::ToHex(base::Sha256(key)).substr(0, 32) + ".times";
}

}  // namespace

StatusOr<eval::MachineTimes> MeasureTimes(const std::string& public_directory,
                                          double tokens_a_user) {
  const std::string cache = base::DefaultCacheDirectory();
  SUBMIX_ASSIGN_OR_RETURN(const std::string name, TimesName(public_directory, tokens_a_user));
  if (!cache.empty()) {
    const auto noted = base::ReadFile(base::JoinPath(cache, name));
    const auto times = noted.ok() ? eval::ParseTimes(*noted) : std::nullopt;
    if (times) return *times;
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto times, Measure(public_directory, tokens_a_user));
  if (!cache.empty())
    (void)base::WriteCached(cache, name, eval::TimesText(times));  // or again next time
  return times;
}

}  // namespace submix::workbench

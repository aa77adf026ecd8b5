#include "submix/train/private_training/dp_sgd_speed.h"

#include <chrono>
#include <random>

#include "submix/base/file_system.h"
#include "submix/base/random.h"
#include "submix/model/decoder_config.h"
#include "submix/train/fine_tuning/training_speed.h"

namespace submix::train {

base::StatusOr<double> DpSgdPositionsASecond(const std::string& public_directory,
                                             const DpSgdOptions& options, int users,
                                             int blocks_a_user, const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(
      const model::DecoderConfig config,
      model::LoadDecoderConfig(base::JoinPath(public_directory, "config.json")));
  DpSgdTask task = {base::JoinPath(directory, "model"), base::JoinPath(directory, "account"), {}};
  std::mt19937_64 generator(1);
  for (int user = 0; user < users; ++user) {
    task.units.push_back(RandomBlocks(static_cast<std::size_t>(blocks_a_user), options.block_tokens,
                                      config.vocab_size, generator));
  }
  // All users in every step, so that no coin decides how much a step computes.
  SUBMIX_ASSIGN_OR_RETURN(const auto budget,
                          accounting::StepBudget::Plan({/*sampling_probability=*/1,
                                                        /*noise_multiplier=*/100},
                                                       {/*epsilon=*/8, /*delta=*/1e-6}));
  DpSgdOptions timed = options;
  timed.expected_batch = users;
  timed.steps = 3;  // the second is timed
  timed.checkpoint_seconds = 3600;
  using Clock = std::chrono::steady_clock;
  int step = 0;
  Clock::time_point begin;
  Clock::time_point end;
  timed.should_stop = [&] {
    (step < 2 ? begin : end) = Clock::now();
    return step++ == 2;
  };
  const auto random = base::MakeSystemRandomSource();
  const base::Status status =
      TrainDpSgd(public_directory, task, timed, budget, *random, base::ProgressStyle::kSilent)
          .status();
  if (status.code() != base::StatusCode::kUnavailable) return status;
  const double positions = 1.0 * users * blocks_a_user * (options.block_tokens - 1);
  return positions / std::chrono::duration<double>(end - begin).count();
}

}  // namespace submix::train

#include "submix/train/fine_tuning/training_speed.h"

#include <chrono>

#include "submix/base/file_system.h"
#include "submix/model/decoder_config.h"

namespace submix::train {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmUpUpdates = 2;

// With text for an update more than are timed, so that none is the last one.
std::vector<MemberTask> RandomTasks(const FineTuneOptions& options, int updates, int vocab_size,
                                    const std::string& directory) {
  std::mt19937_64 generator(1);
  std::vector<MemberTask> tasks(static_cast<std::size_t>(options.members_at_a_time));
  const auto blocks = static_cast<std::size_t>(options.batch_size * (kWarmUpUpdates + updates + 1));
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].output_directory = base::JoinPath(directory, std::to_string(i));
    tasks[i].seed = i;
    tasks[i].blocks = RandomBlocks(blocks, options.block_tokens, vocab_size, generator);
  }
  return tasks;
}

}  // namespace

std::vector<std::vector<base::TokenId>> RandomBlocks(std::size_t count, int block_tokens,
                                                     int vocab_size, std::mt19937_64& generator) {
  std::vector<std::vector<base::TokenId>> blocks(count);
  for (std::vector<base::TokenId>& block : blocks) {
    block.resize(static_cast<std::size_t>(block_tokens));
    for (base::TokenId& token : block) {
      token = static_cast<base::TokenId>(generator() % static_cast<std::uint64_t>(vocab_size));
    }
  }
  return blocks;
}

base::StatusOr<double> PositionsASecond(const std::string& public_directory,
                                        const FineTuneOptions& options, int updates, double seconds,
                                        const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(
      const model::DecoderConfig config,
      model::LoadDecoderConfig(base::JoinPath(public_directory, "config.json")));
  FineTuneOptions timed = options;
  timed.checkpoint_every = 0;
  int update = -kWarmUpUpdates;
  Clock::time_point begin;
  double passed = 0;
  timed.should_stop = [&] {
    if (update == 0) begin = Clock::now();
    if (update > 0) passed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (update == updates || passed >= seconds) return true;
    ++update;
    return false;
  };
  const base::Status status =
      FineTuneMembers(public_directory, RandomTasks(timed, updates, config.vocab_size, directory),
                      timed, base::ProgressStyle::kSilent);
  if (status.code() != base::StatusCode::kUnavailable) return status;
  const double positions =
      1.0 * update * timed.members_at_a_time * timed.batch_size * (timed.block_tokens - 1);
  return positions / passed;
}

}  // namespace submix::train

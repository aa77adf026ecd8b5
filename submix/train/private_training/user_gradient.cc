#include "submix/train/private_training/user_gradient.h"

#include <algorithm>

#include "submix/base/check.h"
#include "submix/train/models/token_batch.h"

namespace submix::train {
namespace {

using Blocks = std::span<const std::vector<base::TokenId>>;

std::int64_t NumTargets(Blocks blocks) {
  std::int64_t count = 0;
  for (const std::vector<base::TokenId>& block : blocks) count += std::ssize(block) - 1;
  return count;
}

// No wider than the longest of these blocks: shapes are the user's own matter.
TokenBatch MakeBatch(Blocks blocks) {
  std::int64_t longest = 0;
  for (const std::vector<base::TokenId>& block : blocks) {
    longest = std::max<std::int64_t>(longest, std::ssize(block));
  }
  const auto rows = static_cast<std::int64_t>(blocks.size());
  TokenBatch batch(rows, longest - 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    batch.SetRow(row, blocks[static_cast<std::size_t>(row)]);
  }
  batch.WeighEqually(0, rows);
  return batch;
}

}  // namespace

UserGradient::UserGradient(MemberModels& models, int rows_at_a_time)
    : models_(models), rows_at_a_time_(static_cast<std::size_t>(rows_at_a_time)) {
  SUBMIX_CHECK(rows_at_a_time >= 1 && models.parameters().groups() == 1, "one member, some rows");
}

std::span<const float> UserGradient::Compute(Blocks blocks) {
  FlatParameters& parameters = models_.parameters();
  const auto total_targets = static_cast<double>(NumTargets(blocks));
  SUBMIX_CHECK(total_targets > 0, "a user without anything to predict");
  loss_ = 0;
  const bool one_pass = blocks.size() <= rows_at_a_time_;
  if (!one_pass) total_.assign(parameters.size(), 0.0f);
  for (std::size_t begin = 0; begin < blocks.size(); begin += rows_at_a_time_) {
    const Blocks pass = blocks.subspan(begin, std::min(rows_at_a_time_, blocks.size() - begin));
    const double share = static_cast<double>(NumTargets(pass)) / total_targets;
    const at::Tensor loss = models_.Loss(MakeBatch(pass)).total * share;
    parameters.Differentiate(loss);
    loss_ += loss.item<double>();
    if (one_pass) break;
    const std::span<const float> gradients = parameters.gradients(0);
    std::ranges::transform(gradients, total_, total_.begin(), std::plus<>());
  }
  return one_pass ? parameters.gradients(0) : std::span<const float>(total_);
}

}  // namespace submix::train

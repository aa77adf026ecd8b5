#include "submix/train/private_training/user_gradient.h"

#include <algorithm>
#include <functional>

#include "submix/base/check.h"
#include "submix/train/models/token_batch.h"

namespace submix::train {
UserGradient::UserGradient(MemberModels& models, int rows_at_a_time)
    : models_(models), rows_at_a_time_(static_cast<std::size_t>(rows_at_a_time)) {
  SUBMIX_CHECK(rows_at_a_time >= 1 && models.parameters().groups() == 1, "one member, some rows");
}

std::span<const float> UserGradient::Compute(
    std::span<const std::vector<corpus::StreamToken>> blocks, std::optional<StatePlace> first) {
  FlatParameters& parameters = models_.parameters();
  const auto total_targets = static_cast<double>(NumTargets(blocks));
  SUBMIX_CHECK(total_targets > 0, "a user without anything to predict");
  const bool one_pass = blocks.size() <= rows_at_a_time_;
  if (!one_pass) total_.assign(parameters.size(), 0.0f);
  for (std::size_t begin = 0; begin < blocks.size(); begin += rows_at_a_time_) {
    const auto pass = blocks.subspan(begin, std::min(rows_at_a_time_, blocks.size() - begin));
    const double share = static_cast<double>(NumTargets(pass)) / total_targets;
    std::optional<StatePlace> place = first;
    if (place.has_value()) place->block += begin;
    const at::Tensor loss = models_.Loss(BatchOf(pass, place)) * share;
    parameters.Differentiate(loss);
    if (one_pass) break;
    const std::span<const float> gradients = parameters.gradients(0);
    std::ranges::transform(gradients, total_, total_.begin(), std::plus<>());
  }
  return one_pass ? parameters.gradients(0) : std::span<const float>(total_);
}

}  // namespace submix::train

#include "submix/mechanism/research/published_aggregate.h"

#include <string>

namespace submix::mechanism {
namespace {

constexpr double kPublishedMoves = 1;

}  // namespace

base::StatusOr<std::unique_ptr<PublishedAggregate>> PublishedAggregate::Create(
    const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const std::uint64_t noise_scale, NoiseScaleFor(options, kPublishedMoves));
  return std::unique_ptr<PublishedAggregate>(
      new PublishedAggregate(options, noise_scale, kPublishedMoves));
}

accounting::PrivacyStatement PublishedAggregate::Statement(accounting::FixedNats budget) const {
  accounting::PrivacyStatement statement;
  statement.mechanism = std::string(name()) + ", accounting published";
  statement.unit = accounting::PrivacyUnit::kPart;
  statement.adjacency = accounting::Adjacency::kNull;
  statement.order = options().order;
  statement.epsilon = budget;
  statement.proof =
      "research: the paper's sensitivity of 1/k is half of what a changed pmf moves the mean by";
  return statement;
}

}  // namespace submix::mechanism

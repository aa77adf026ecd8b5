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
  return accounting::ResearchStatement(
      std::string(name()) + ", accounting published", options().order, budget,
      "the paper's sensitivity of 1/k is half of what a changed pmf moves the mean by");
}

}  // namespace submix::mechanism

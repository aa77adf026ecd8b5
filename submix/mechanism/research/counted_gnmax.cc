#include "submix/mechanism/research/counted_gnmax.h"

#include <string>
#include <utility>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/divergence/renyi_divergence.h"

namespace submix::mechanism {
namespace {

using accounting::FixedNats;

// The law as a pmf.
std::vector<double> PmfOfVotes(const Votes& votes, std::size_t support_size, double noise_scale) {
  const std::vector<std::uint64_t> law = LawOfVotes(votes, support_size, noise_scale);
  double total = 0;
  for (const std::uint64_t weight : law) total += static_cast<double>(weight);
  std::vector<double> pmf;
  pmf.reserve(law.size());
  for (const std::uint64_t weight : law) pmf.push_back(static_cast<double>(weight) / total);
  return pmf;
}

}  // namespace

base::StatusOr<std::unique_ptr<CountedGnmax>> CountedGnmax::Create(
    const MechanismOptions& options) {
  SUBMIX_ASSIGN_OR_RETURN(const double noise_scale, GnmaxNoiseScale(options));
  return std::unique_ptr<CountedGnmax>(new CountedGnmax(options, noise_scale));
}

accounting::PrivacyStatement CountedGnmax::Statement(FixedNats budget) const {
  accounting::PrivacyStatement statement = accounting::ResearchStatement(
      std::string(name()) + ", accounting " + std::string(ToString(options().accounting)),
      options().order, budget,
      is_published()
          ? "Theorem 6 of Papernot et al. 2018 counts from the private votes, so that the charges, "
            "and the end that follows from them, are functions of all parts"
          : "a part's charge is exact for these votes only, and so depends on the other parts");
  if (is_published()) statement.adjacency = accounting::Adjacency::kReplace;
  return statement;
}

std::vector<FixedNats> CountedGnmax::Charges(const Votes& votes, std::size_t public_vote,
                                             std::size_t support_size) const {
  if (is_published()) {
    std::vector<double> counts(support_size);
    for (const std::size_t token : votes) ++counts[token];
    const double nats = accounting::GnmaxDataDependentRdp(counts, noise_scale(), options().order);
    return std::vector<FixedNats>(votes.size(), FixedNats::RoundUp(nats));
  }
  std::vector<FixedNats> charges;
  const std::vector<double> law = PmfOfVotes(votes, support_size, noise_scale());
  for (std::size_t part = 0; part < votes.size(); ++part) {
    Votes without = votes;
    without[part] = public_vote;
    charges.push_back(FixedNats::RoundUp(divergence::SymmetricRenyiDivergence(
        law, PmfOfVotes(without, support_size, noise_scale()), options().order)));
  }
  return charges;
}

}  // namespace submix::mechanism

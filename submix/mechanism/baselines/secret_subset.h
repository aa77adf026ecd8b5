// PMixED's answer (Flemings, Razaviyayn, Annavaram 2024): the mean of a secret random subset of the
// parts, each drawn with a public probability p, anew for every token; the public law if nobody was
// drawn.
//
// The subset is independent of all data and shown to nobody: by symmetry a token's law is exactly
//     (1 - q) h0 + (q/k) sum m_i,   q = 1 - (1 - p)^k,
// with part i null as well. So the charge of that law is the charge, without an amplification lemma
// (docs/privacy.md, Theorem 7).
#pragma once

#include <functional>
#include <vector>

#include "submix/mechanism/baselines/ball_laws.h"
#include "submix/mechanism/mechanism.h"

namespace submix::mechanism {

// Errors: kInvalidArgument unless the options' sampling probability is in (0, 1].
base::Status CheckSamplingProbability(const MechanismOptions& options);

// q: the probability that somebody is drawn.
double ProbabilityOfAnyPart(const MechanismOptions& options);

class SecretSubsetProposal final : public Proposal {
 public:
  // The law of a part in a subset of so many parts, [V] with the total of `public_law`.
  using LawOf = std::function<LawWeights(int part, std::size_t subset_size)>;

  SecretSubsetProposal(base::ReleaseId release_id, std::vector<accounting::FixedNats> charges,
                       LawWeights public_law, double sampling_probability, LawOf law_of);

  // Asks for every part's law after the draw: the work does not show who or how many were drawn.
  PrivateMixture Mix(const std::vector<bool>& paid, base::RandomSource& random) && override;

 private:
  LawWeights public_law_;
  double sampling_probability_;
  LawOf law_of_;
};

}  // namespace submix::mechanism

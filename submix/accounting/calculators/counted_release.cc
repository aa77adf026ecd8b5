#include "submix/accounting/calculators/counted_release.h"

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/base/check.h"

namespace submix::accounting {

CountedRelease DpSgdRelease(double sampling_probability, double noise_multiplier) {
  return {SubsampledGaussianRun{sampling_probability, noise_multiplier},
          {},
          ProvenStatement(PrivacyUnit::kTrainingExample, Adjacency::kPresence,
                          "Mironov, Talwar and Zhang 2019")};
}

// The mean pmf moves by 2 / parts in L1.
CountedRelease LaplaceRelease(double parts, double noise_scale) {
  const LaplaceRun run = {noise_scale * parts / 2};
  return {run, run,
          ProvenStatement(PrivacyUnit::kPart, Adjacency::kReplace,
                          "Mironov 2017, Proposition 6; docs/accounting.md, Laplace noise")};
}

CountedRelease GnmaxRelease(double noise_scale) {
  const GnmaxRun run = {noise_scale};
  return {run, run,
          ProvenStatement(PrivacyUnit::kPart, Adjacency::kReplace,
                          "Papernot et al. 2018, Proposition 8")};
}

CountedRelease DclipRelease(double parts, double clip, double temperature) {
  const double range = 2 * clip / (parts * temperature);
  return {BoundedRangeRun{range}, BoundedRangeRun{2 * range},
          ProvenStatement(PrivacyUnit::kPart, Adjacency::kNull,
                          "docs/privacy.md, theorem of clipped log ratios")};
}

CountedRelease DpDecodingRelease(double mixing_weight, std::int64_t vocab_size) {
  return {DpDecodingRun{mixing_weight, vocab_size},
          {},
          ProvenStatement(PrivacyUnit::kUserKey, Adjacency::kReplace,
                          "docs/accounting.md, DP decoding")};
}

CountedRelease FilteredSubmixRelease(double order, double target_leakage) {
  return {OneOrderRun{order, target_leakage},
          {},
          ProvenStatement(PrivacyUnit::kPart, Adjacency::kNull,
                          "docs/privacy.md, theorem of the transcript filter")};
}

PrivacyStatement UserStatement(const CountedRelease& release) {
  SUBMIX_CHECK(release.user_run.has_value(), "nothing is said about users");
  PrivacyStatement statement = release.statement;
  statement.unit = PrivacyUnit::kUserKey;
  statement.adjacency = Adjacency::kReplace;
  return statement;
}

std::vector<RdpBound> GnmaxVotesRdp(std::span<const double> votes, double noise_scale,
                                    double answers) {
  std::vector<RdpBound> bounds;
  for (const auto order : DefaultOrders()) {
    bounds.push_back({order, answers * GnmaxDataDependentRdp(votes, noise_scale, order)});
  }
  return bounds;
}

PrivacyStatement GnmaxVotesStatement() {
  PrivacyStatement statement =
      ProvenStatement(PrivacyUnit::kPart, Adjacency::kReplace,
                      "Papernot et al. 2018, Theorem 6, if all answers have these votes");
  statement.worst_case = false;
  return statement;
}

PrivacyStatement FedAvgStatement(ConversionKind kind) {
  return ProvenStatement(
      PrivacyUnit::kUserKey, Adjacency::kPresence,
      kind == ConversionKind::kClassic
          ? "Mironov, Talwar and Zhang 2019, best of the orders 2 to 33, classic conversion"
          : "Mironov, Talwar and Zhang 2019, best order, improved conversion");
}

PrivacyStatement PmixedStatement() {
  PrivacyStatement statement = ProvenStatement(
      PrivacyUnit::kPart, Adjacency::kPresence,
      "research: the triangle rule needs the ball at every order, beta depends on the secret "
      "subset, the amplification formula is proven for Gaussian and Laplace noise only");
  statement.proven = false;
  return statement;
}

}  // namespace submix::accounting

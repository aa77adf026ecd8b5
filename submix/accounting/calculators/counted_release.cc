#include "submix/accounting/calculators/counted_release.h"

#include <cmath>

#include "submix/accounting/calculators/gnmax_rdp.h"
#include "submix/base/check.h"

namespace submix::accounting {
namespace {

using Range = ReleaseParameter::Range;
using Values = std::span<const double>;

constexpr Range kPositive = {"a number above 0",
                             +[](double value) { return value > 0 && std::isfinite(value); }};
constexpr Range kProbability = {"a number in [0, 1]",
                                +[](double value) { return value >= 0 && value <= 1; }};
constexpr Range kCount = {"a whole number from 1 to 2^53", +[](double value) {
                            return value >= 1 && value <= 0x1p53 && value == std::floor(value);
                          }};
constexpr Range kOrder = {"a number above 0 or inf", +[](double value) { return value > 0; }};

constexpr ReleaseParameter kParts = {"parts", kCount, 16, "Number of parts k"};

constexpr ReleaseParameter kDpSgd[] = {
    {"sampling_probability", kProbability, 0.01,
     "With which each example is in a step's batch, independently"},
    {"noise_multiplier", kPositive, 1, "Noise, in units of the clipping norm"}};
constexpr ReleaseParameter kLaplace[] = {
    kParts, {"noise_scale", kPositive, 40, "Scale b of the noise on the mean pmf"}};
constexpr ReleaseParameter kGnmax[] = {
    {"noise_scale", kPositive, 40, "Standard deviation of each count's noise"}};
constexpr ReleaseParameter kDclip[] = {
    kParts,
    {"clip", kPositive, 1, "Clip C of a part's log ratios to the public model"},
    {"temperature", kPositive, 1, "If the clip is in logits before a temperature; 1 if after",
     true}};
constexpr ReleaseParameter kDpDecoding[] = {
    {"mixing_weight", kProbability, 1e-6, "Weight of the model's pmf"},
    {"vocabulary", kCount, 50257, "Number of tokens V"}};
constexpr ReleaseParameter kFilteredSubmix[] = {
    {"order", kOrder, 8, "The Renyi order that binds"},
    {"target_leakage", kPositive, 0.001, "Cap on one charge, in nats at the order"}};

constexpr CountedKind kKinds[] = {
    {"dp-sgd", "Steps of DP-SGD", "DP-SGD: Poisson-subsampled Gaussian steps", "steps",
     "--sampling-probability 0.01 --noise-multiplier 1.1", kDpSgd,
     +[](Values of) { return DpSgdRelease(of[0], of[1]); }},
    {"laplace", "Sample and aggregate with Laplace noise",
     "Sample and aggregate: the mean pmf, which moves by 2 / parts, with Laplace noise", "answers",
     "--parts 16 --noise-scale 2", kLaplace,
     +[](Values of) { return LaplaceRelease(of[0], of[1]); }, true},
    {"gnmax", "Votes with Gaussian noise", "GNMax: the token with most votes after Gaussian noise",
     "answers", "--noise-scale 40", kGnmax, +[](Values of) { return GnmaxRelease(of[0]); }},
    {"dclip", "DClip, a fixed number of tokens", "DClip, a fixed number of tokens", "answers",
     "--parts 64 --clip 1.4", kDclip, +[](Values of) { return DclipRelease(of[0], of[1], of[2]); },
     true},
    {"dp-decoding", "Tokens mixed with the uniform law",
     "DP decoding: tokens from the model mixed with the uniform law", "tokens",
     "--mixing-weight 1e-6 --vocabulary 50257", kDpDecoding,
     +[](Values of) { return DpDecodingRelease(of[0], static_cast<std::int64_t>(of[1])); }, true},
    {"filtered-submix", "Tokens that every part can surely pay for",
     "filtered-submix: tokens that every part can surely pay for", "answers",
     "--order 8 --target-leakage 0.001", kFilteredSubmix,
     +[](Values of) { return FilteredSubmixRelease(of[0], of[1]); }, false, true},
};

}  // namespace

std::span<const CountedKind> CountedKinds() { return kKinds; }

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
                      "Papernot et al. 2018, Theorem 6, if all tokens have these votes");
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

// Exposure of a planted code (Carlini, Liu, Erlingsson, Kos and Song 2019): how many bits of it a
// model gives away to somebody who ranks all codes by likelihood,
//     log2 |R| - log2 rank,
// from 0 (the least likely of all) over 1.4 on average (one rank as likely as another) to log2 |R|
// (the likeliest). Small spaces are ranked in full. In larger ones the rank is estimated from a
// sample of codes, which cannot say more than log2 of the sample's size, and beyond that from a
// skew-normal law fitted to the sample: -log2 Pr[a code is at least as likely].
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/attacks/attack_input.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// --- All the codes that a planted one might have been: the same text with other characters of an
// alphabet at the places where it has one of them.

// Immutable value.
class CodeSpace {
 public:
  // Errors: kInvalidArgument for an alphabet of fewer than two characters or with one twice, or a
  // code without any of them.
  static base::StatusOr<CodeSpace> Create(std::string code, std::string alphabet);

  // How many codes there are.
  double size() const { return size_; }
  // Every code once, for 0 <= index < size. Requires: size <= 2^53.
  std::string Code(std::uint64_t index) const;
  // One of them, uniformly.
  std::string Draw(base::RandomSource& random) const;

 private:
  CodeSpace(std::string code, std::string alphabet, std::vector<std::size_t> places);

  std::string code_;
  std::string alphabet_;
  std::vector<std::size_t> places_;
  double size_;
};

// --- Exposure

struct ExposureOptions {
  std::string alphabet = "0123456789";
  double enumerate_up_to = 10000;  // codes; larger spaces are sampled
  int samples = 2000;
};

struct Exposure {
  double codes = 0;            // |R|
  double log_probability = 0;  // of the planted code after its prompt, nats
  bool is_enumerated = false;
  // Codes at least as likely as the planted one, itself included, of those that were ranked.
  std::int64_t rank = 1;
  std::int64_t ranked = 1;
  double by_rank = 0;         // bits: log2(ranked / rank)
  double by_skew_normal = 0;  // bits; NaN if the likelihoods have no spread
  double fit_distance = 0;    // Kolmogorov and Smirnov's, between law and sample; NaN likewise
};

// From the log probabilities of the planted code and of other codes (of all others, or of a
// sample). Requires: at least one other.
Exposure ExposureOf(double planted, std::span<const double> others, double codes,
                    bool is_enumerated);

// How many codes are scored for these planted ones together. Errors: CodeSpace's.
base::StatusOr<std::int64_t> CodesToScore(std::span<const PlantedCode> planted,
                                          const ExposureOptions& options);

// One for each law, in one pass over the models. Every code is asked for under a fresh budget.
// `scored` is called for each code. Errors: the code space's, the predictor's, the laws'.
base::StatusOr<std::vector<Exposure>> MeasureExposure(ensemble::Predictor& predictor,
                                                      std::span<TokenLaw* const> laws,
                                                      const tokenizer::Tokenizer& tokenizer,
                                                      const PlantedCode& planted,
                                                      const ExposureOptions& options,
                                                      base::RandomSource& random,
                                                      const std::function<void()>& scored);

}  // namespace submix::eval

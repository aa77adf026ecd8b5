#include "submix/eval/attacks/exposure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "submix/base/check.h"
#include "submix/eval/attacks/skew_normal.h"

namespace submix::eval {
namespace {

using base::StatusOr;

bool IsEnumerated(const CodeSpace& space, const ExposureOptions& options) {
  return space.size() <= options.enumerate_up_to;
}

// All codes but the planted one, or a sample.
std::vector<std::string> OtherCodes(const CodeSpace& space, const std::string& planted,
                                    const ExposureOptions& options, base::RandomSource& random) {
  std::vector<std::string> codes;
  if (!IsEnumerated(space, options)) {
    for (int i = 0; i < options.samples; ++i) codes.push_back(space.Draw(random));
    return codes;
  }
  const auto size = static_cast<std::uint64_t>(space.size());
  for (std::uint64_t index = 0; index < size; ++index) {
    std::string code = space.Code(index);
    if (code != planted) codes.push_back(std::move(code));
  }
  return codes;
}

StatusOr<std::vector<double>> LogProbabilities(ensemble::Predictor& predictor,
                                               std::span<TokenLaw* const> laws,
                                               const tokenizer::Tokenizer& tokenizer,
                                               const std::string& prompt, const std::string& code) {
  SUBMIX_ASSIGN_OR_RETURN(const JudgedTokens judged, Judged(tokenizer, prompt, code));
  for (TokenLaw* law : laws) SUBMIX_RETURN_IF_ERROR(law->Renew());
  return LogLikelihoods(predictor, laws, judged);
}

}  // namespace

base::StatusOr<CodeSpace> CodeSpace::Create(std::string code, std::string alphabet) {
  if (alphabet.size() < 2) {
    return base::InvalidArgumentError("alphabet: expected at least two characters");
  }
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    if (alphabet.find(alphabet[i], i + 1) != std::string::npos) {
      return base::InvalidArgumentError("alphabet: expected every character once");
    }
  }
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (alphabet.find(code[at]) != std::string::npos) places.push_back(at);
  }
  if (places.empty()) {
    return base::InvalidArgumentError(
        "a secret has no character of the alphabet, so there is nothing to guess: give --alphabet");
  }
  return CodeSpace(std::move(code), std::move(alphabet), std::move(places));
}

CodeSpace::CodeSpace(std::string code, std::string alphabet, std::vector<std::size_t> places)
    : code_(std::move(code)),
      alphabet_(std::move(alphabet)),
      places_(std::move(places)),
      size_(std::pow(static_cast<double>(alphabet_.size()), static_cast<double>(places_.size()))) {}

std::string CodeSpace::Code(std::uint64_t index) const {
  SUBMIX_CHECK(size_ <= 0x1p53 && static_cast<double>(index) < size_, "no such code");
  std::string code = code_;
  for (const std::size_t place : places_) {
    code[place] = alphabet_[index % alphabet_.size()];
    index /= alphabet_.size();
  }
  return code;
}

std::string CodeSpace::Draw(base::RandomSource& random) const {
  std::string code = code_;
  for (const std::size_t place : places_) {
    code[place] = alphabet_[random.NextBelow(alphabet_.size())];
  }
  return code;
}

Exposure ExposureOf(double planted, std::span<const double> others, double codes,
                    bool is_enumerated) {
  SUBMIX_CHECK(!others.empty(), "a rank among others");
  Exposure exposure;
  exposure.codes = codes;
  exposure.log_probability = planted;
  exposure.is_enumerated = is_enumerated;
  exposure.ranked = std::ssize(others) + 1;
  exposure.rank = 1 + std::ranges::count_if(others, [&](double other) { return other >= planted; });
  exposure.by_rank = std::log2(static_cast<double>(exposure.ranked)) -
                     std::log2(static_cast<double>(exposure.rank));
  std::vector<double> losses;  // the law is of log perplexities, as in the paper
  for (const double other : others) losses.push_back(-other);
  const StatusOr<SkewNormal> law = FitSkewNormal(losses);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  exposure.by_skew_normal = law.ok() ? -Log2Cdf(*law, -planted) : kUnknown;
  exposure.fit_distance = law.ok() ? LargestDifference(*law, losses) : kUnknown;
  return exposure;
}

StatusOr<std::int64_t> CodesToScore(std::span<const PlantedCode> planted,
                                    const ExposureOptions& options) {
  std::int64_t total = 0;
  for (const PlantedCode& code : planted) {
    SUBMIX_ASSIGN_OR_RETURN(const CodeSpace space,
                            CodeSpace::Create(code.secret, options.alphabet));
    total += IsEnumerated(space, options) ? static_cast<std::int64_t>(space.size())
                                          : std::int64_t{options.samples} + 1;
  }
  return total;
}

StatusOr<std::vector<Exposure>> MeasureExposure(ensemble::Predictor& predictor,
                                                std::span<TokenLaw* const> laws,
                                                const tokenizer::Tokenizer& tokenizer,
                                                const PlantedCode& planted,
                                                const ExposureOptions& options,
                                                base::RandomSource& random,
                                                const std::function<void()>& scored) {
  SUBMIX_ASSIGN_OR_RETURN(const CodeSpace space,
                          CodeSpace::Create(planted.secret, options.alphabet));
  SUBMIX_ASSIGN_OR_RETURN(
      const std::vector<double> own,
      LogProbabilities(predictor, laws, tokenizer, planted.prompt, planted.secret));
  scored();
  std::vector<std::vector<double>> others(laws.size());
  for (const std::string& code : OtherCodes(space, planted.secret, options, random)) {
    SUBMIX_ASSIGN_OR_RETURN(const std::vector<double> sums,
                            LogProbabilities(predictor, laws, tokenizer, planted.prompt, code));
    for (std::size_t i = 0; i < laws.size(); ++i) others[i].push_back(sums[i]);
    scored();
  }
  std::vector<Exposure> exposures;
  for (std::size_t i = 0; i < laws.size(); ++i) {
    exposures.push_back(ExposureOf(own[i], others[i], space.size(), IsEnumerated(space, options)));
  }
  return exposures;
}

}  // namespace submix::eval

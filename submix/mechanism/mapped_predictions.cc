#include "submix/mechanism/mapped_predictions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "submix/base/check.h"
#include "submix/base/number_text.h"
#include "submix/divergence/softmax.h"
#include "submix/mechanism/kernels/weight_kernels.h"

namespace submix::mechanism {
namespace {

// The public pmf must stay positive.
constexpr double kLeastProbability = std::numeric_limits<double>::min();

// Members' probabilities, of ten rows of GPT-2's vocabulary: half a millisecond. With fewer, other
// threads are hardly awake before the work is done.
constexpr std::size_t kWorthDividing = std::size_t{1} << 19;

template <typename Integer>
std::size_t AsSize(Integer value) {
  return static_cast<std::size_t>(value);
}

// The k of top-k or top-k+; all tokens without.
std::size_t Keeps(const SamplingOptions& options, std::size_t vocab_size) {
  const int k = std::max(options.top_k, options.top_k_plus);
  return k > 0 ? std::min(AsSize(k), vocab_size) : vocab_size;
}

void ListFrom(std::span<const float> logits, double bound, std::vector<base::TokenId>& tokens) {
  tokens.clear();
  for (std::size_t x = 0; x < logits.size(); ++x) {
    if (logits[x] >= bound) tokens.push_back(static_cast<base::TokenId>(x));
  }
}

}  // namespace

base::Status CheckSamplingOptions(const SamplingOptions& options, double log_ratio_range) {
  if (!(options.temperature > 0 && std::isfinite(options.temperature))) {
    return base::InvalidArgumentError("temperature: expected a finite number above 0, found " +
                                      base::NumberText(options.temperature));
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return base::InvalidArgumentError("top_p: expected a number in (0, 1], found " +
                                      base::NumberText(options.top_p));
  }
  if (options.top_k < 0) {
    return base::InvalidArgumentError("top_k: expected 0 (all tokens) or more, found " +
                                      base::NumberText(options.top_k));
  }
  if (options.top_k_plus < 0 || (options.top_k_plus > 0 && options.top_k > 0)) {
    return base::InvalidArgumentError(
        "top_k_plus: expected 0 (off) or more, and no top_k beside it");
  }
  if (options.top_k_plus > 0 && !std::isfinite(log_ratio_range)) {
    return base::InvalidArgumentError(
        "top_k_plus: only dclip and filtered-dclip bound what members can bring among the k "
        "likeliest; give top_k");
  }
  return base::OkStatus();
}

base::Status MappedPredictions::Map(std::span<const float> public_logits,
                                    std::span<const float> member_logits, int halves,
                                    const SamplingOptions& options, double log_ratio_range,
                                    const base::ForEach& for_each) {
  has_public_law_ = true;
  SUBMIX_RETURN_IF_ERROR(CheckSamplingOptions(options, log_ratio_range));
  const std::size_t vocab_size = public_logits.size();
  if (vocab_size == 0 || (halves != 1 && halves != 2) ||
      member_logits.size() % (vocab_size * static_cast<std::size_t>(halves)) != 0) {
    return base::InvalidArgumentError("expected whole parts of " + std::to_string(halves) +
                                      " rows of " + std::to_string(vocab_size) + " logits, found " +
                                      std::to_string(member_logits.size()));
  }
  halves_ = halves;
  num_parts_ = static_cast<int>(member_logits.size() / vocab_size) / halves;
  vocab_size_ = vocab_size;
  kept_logits_.resize(std::max(kept_logits_.size(), AsSize(std::max(1, num_parts_))));
  is_truncated_ = Keeps(options, vocab_size) < vocab_size || options.top_p < 1;
  has_public_law_ = divergence::LargestOf(public_logits).all_finite;
  if (!has_public_law_) {
    return base::InternalError("the public model's logits are not finite: its weights are damaged");
  }
  if (is_truncated_) ChooseSupport(public_logits, options, log_ratio_range);
  public_pmf_.resize(support_size());
  SUBMIX_CHECK(MapRow(public_logits, options.temperature, kept_logits_.front(), public_pmf_),
               "finite logits have a pmf");
  RaiseToLeast(kLeastProbability, public_pmf_.size(), public_pmf_.data());
  MapMembers(member_logits, options.temperature, for_each);
  return base::OkStatus();
}

void MappedPredictions::ChooseSupport(std::span<const float> public_logits,
                                      const SamplingOptions& options, double log_ratio_range) {
  const auto likelier = [&](base::TokenId a, base::TokenId b) {
    const float logit_a = public_logits[static_cast<std::size_t>(a)];
    const float logit_b = public_logits[static_cast<std::size_t>(b)];
    return logit_a > logit_b || (logit_a == logit_b && a < b);
  };
  const std::size_t kept = Keeps(options, public_logits.size());
  if (kept < public_logits.size()) {
    ListCandidates(public_logits, kept, support_);
    const auto last = support_.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
    std::nth_element(support_.begin(), last, support_.end(), likelier);
    const double bound =
        double{public_logits[AsSize(*last)]} - log_ratio_range * options.temperature;
    support_.resize(kept);
    if (options.top_k_plus > 0) ListFrom(public_logits, bound, support_);
  } else {
    support_.resize(public_logits.size());
    std::iota(support_.begin(), support_.end(), 0);
  }
  if (options.top_p < 1) KeepMass(public_logits, options, likelier);
  std::sort(support_.begin(), support_.end());
}

void MappedPredictions::ListCandidates(std::span<const float> logits, std::size_t count,
                                       std::vector<base::TokenId>& candidates) {
  // At least `count` blocks have a largest logit of `least` or more, and few others do.
  const std::size_t block = std::max<std::size_t>(1, logits.size() / (4 * count));
  largest_.clear();
  for (std::size_t begin = 0; begin < logits.size(); begin += block) {
    const std::size_t end = std::min(begin + block, logits.size());
    largest_.push_back(divergence::LargestOf(logits.subspan(begin, end - begin)).value);
  }
  ranked_ = largest_;
  const auto place = ranked_.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::nth_element(ranked_.begin(), place, ranked_.end(), std::greater<>());
  const float least = *place;
  candidates.clear();
  for (std::size_t i = 0; i < largest_.size(); ++i) {
    if (largest_[i] < least) continue;
    const std::size_t end = std::min((i + 1) * block, logits.size());
    for (std::size_t x = i * block; x < end; ++x) {
      if (logits[x] >= least) candidates.push_back(static_cast<base::TokenId>(x));
    }
  }
}

template <typename Likelier>
void MappedPredictions::KeepMass(std::span<const float> public_logits,
                                 const SamplingOptions& options, const Likelier& likelier) {
  public_pmf_.resize(support_.size());
  SUBMIX_CHECK(MapRow(public_logits, options.temperature, kept_logits_.front(), public_pmf_),
               "finite logits have a pmf");
  const auto mass_of = [&](auto begin, auto end) {
    return std::accumulate(
        begin, end, 0.0, [&](double sum, base::TokenId x) { return sum + public_pmf_[AsSize(x)]; });
  };
  // Positions in the support, likely ones first up to a point that the search below closes in on:
  // those before `begin` have too little mass, those before `end` have enough.
  ranking_.resize(support_.size());
  std::iota(ranking_.begin(), ranking_.end(), 0);
  if (support_.size() == public_logits.size()) {  // positions are tokens
    for (std::size_t count = 256; 4 * count < support_.size(); count *= 8) {
      ListCandidates(public_logits, count, kept_);
      if (mass_of(kept_.begin(), kept_.end()) < options.top_p) continue;
      ranking_.swap(kept_);
      break;
    }
  }
  double mass = 0;
  auto begin = ranking_.begin();
  auto end = ranking_.end();
  while (end - begin > 1) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, [&](base::TokenId a, base::TokenId b) {
      return likelier(support_[AsSize(a)], support_[AsSize(b)]);
    });
    const double more = mass_of(begin, middle);
    if (mass + more < options.top_p) {
      mass += more;
      begin = middle;
    } else {
      end = middle;
    }
  }
  kept_.clear();
  for (auto position = ranking_.begin(); position != end; ++position) {
    kept_.push_back(support_[AsSize(*position)]);
  }
  support_.swap(kept_);
}

bool MappedPredictions::MapRow(std::span<const float> logits, double temperature,
                               std::vector<float>& kept, std::span<double> pmf) const {
  if (!is_truncated_) return divergence::Softmax(logits, temperature, pmf);
  kept.resize(support_.size());
  for (std::size_t x = 0; x < support_.size(); ++x) {
    kept[x] = logits[static_cast<std::size_t>(support_[x])];
  }
  return divergence::Softmax(kept, temperature, pmf);
}

void MappedPredictions::MapMembers(std::span<const float> member_logits, double temperature,
                                   const base::ForEach& for_each) {
  member_pmfs_.resize(AsSize(num_parts_) * AsSize(halves_) * support_size());
  const auto map = [&](int part) { MapPart(AsSize(part), member_logits, temperature); };
  Dividing(for_each)(num_parts_, std::cref(map));  // itself, it would be copied into new memory
}

void MappedPredictions::MapPart(std::size_t part, std::span<const float> member_logits,
                                double temperature) {
  const std::size_t size = support_size();
  const std::size_t halves = AsSize(halves_);
  bool is_null = false;
  for (std::size_t row = part * halves; row < (part + 1) * halves; ++row) {
    const auto pmf = std::span(member_pmfs_).subspan(row * size, size);
    const bool fits = MapRow(member_logits.subspan(row * vocab_size_, vocab_size_), temperature,
                             kept_logits_[part], pmf);
    is_null = is_null || !fits;
  }
  if (!is_null) return;
  for (std::size_t row = part * halves; row < (part + 1) * halves; ++row) {
    std::copy(public_pmf_.begin(), public_pmf_.end(),
              member_pmfs_.begin() + static_cast<std::ptrdiff_t>(row * size));
  }
}

const base::ForEach& MappedPredictions::Dividing(const base::ForEach& for_each) const {
  return member_pmfs_.size() < kWorthDividing ? base::kInTurn : for_each;
}

PartPredictions MappedPredictions::view(const base::ForEach& for_each) const {
  return {public_pmf_, member_pmfs_, num_parts_, halves_, &Dividing(for_each)};
}

base::TokenId MappedPredictions::token(std::size_t support_index) const {
  return is_truncated_ ? support_[support_index] : static_cast<base::TokenId>(support_index);
}

std::ptrdiff_t MappedPredictions::IndexOf(base::TokenId token) const {
  if (!is_truncated_) return token >= 0 && AsSize(token) < vocab_size_ ? token : -1;
  const auto found = std::lower_bound(support_.begin(), support_.end(), token);
  if (found == support_.end() || *found != token) return -1;
  return found - support_.begin();
}

}  // namespace submix::mechanism

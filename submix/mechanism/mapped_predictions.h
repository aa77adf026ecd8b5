// The public maps of Theorem 3: temperature, top-k and top-p, applied to the public model and to
// every member *before* mixing, with the support chosen from the public model only. From logits in
// float to pmfs in double.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "submix/base/for_each.h"
#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::mechanism {

// Public options of a request. They act in Hugging Face's order: temperature, then top-k, then
// top-p on what top-k kept. Ties go to the lower token id.
struct SamplingOptions {
  double temperature = 1;  // > 0 and finite
  double top_p = 1;        // (0, 1]; keeps the smallest set with this share of the public mass
  int top_k = 0;           // keeps the k likeliest public tokens; 0 = all
  // Instead of top_k: keeps every token that the parts could bring among the k likeliest of the
  // mixture (docs/privacy.md, Theorem 6); 0 = off.
  int top_k_plus = 0;
};

// `log_ratio_range` is the mechanism's. Errors: kInvalidArgument, naming the option and its range.
base::Status CheckSamplingOptions(const SamplingOptions& options, double log_ratio_range);

// Owns the pmfs of one token. Reusable: Map overwrites, without allocation once warm. One thread at
// a time.
class MappedPredictions {
 public:
  // public_logits [vocab], member_logits [K * halves, vocab], row part * halves + half.
  // Of a member only the logits of the support are read: the work follows the tokens that are kept.
  // If one of these is not finite, the member's part is null for this token: every half of it
  // becomes the public pmf. Errors: kInternal if any of the *public* model's logits is not finite;
  // kInvalidArgument for options out of range. `for_each` divides the parts where they are much
  // work.
  base::Status Map(std::span<const float> public_logits, std::span<const float> member_logits,
                   int halves, const SamplingOptions& options,
                   double log_ratio_range = std::numeric_limits<double>::infinity(),
                   const base::ForEach& for_each = base::kInTurn);

  // False: the last Map failed because the public model's logits were not finite, and for no other
  // reason.
  bool has_public_law() const { return has_public_law_; }
  // `for_each`, which outlives the view, divides what is made of it where that is much work.
  PartPredictions view(const base::ForEach& for_each = base::kInTurn) const;
  PartPredictions view(const base::ForEach&& for_each) const = delete;
  // The token behind index x of the support.
  base::TokenId token(std::size_t support_index) const;
  // The index of a token in the support, or -1 if it was truncated away. Cost: O(log V).
  std::ptrdiff_t IndexOf(base::TokenId token) const;

 private:
  // Requires: finite logits.
  void ChooseSupport(std::span<const float> public_logits, const SamplingOptions& options,
                     double log_ratio_range);
  // Every token that is at least as likely as some bound, in ascending order; not many more than
  // `count`, and at least so many. Requires: count is above 0 and below the number of logits.
  void ListCandidates(std::span<const float> logits, std::size_t count,
                      std::vector<base::TokenId>& candidates);
  // Top-p on the support so far. `likelier` orders tokens.
  template <typename Likelier>
  void KeepMass(std::span<const float> public_logits, const SamplingOptions& options,
                const Likelier& likelier);
  // The pmf of one row of logits on the support, by way of `kept`. False if a logit there is not
  // finite.
  bool MapRow(std::span<const float> logits, double temperature, std::vector<float>& kept,
              std::span<double> pmf) const;
  void MapMembers(std::span<const float> member_logits, double temperature,
                  const base::ForEach& for_each);
  void MapPart(std::size_t part, std::span<const float> member_logits, double temperature);
  // `for_each` where the members' probabilities are worth waking other threads for.
  const base::ForEach& Dividing(const base::ForEach& for_each) const;
  std::size_t support_size() const { return is_truncated_ ? support_.size() : vocab_size_; }

  std::size_t vocab_size_ = 0;
  bool is_truncated_ = false;  // else every token is kept, and the vectors below are unused
  std::vector<std::vector<float>> kept_logits_;  // [K or more][V], of the row being mapped
  std::vector<float> largest_;                   // of blocks of logits, while top-k works
  std::vector<float> ranked_;                    // the same, being ordered
  std::vector<base::TokenId> ranking_;           // positions in the support, while top-p works
  std::vector<base::TokenId> kept_;              // what top-p keeps, while it works
  std::vector<base::TokenId> support_;           // ascending
  std::vector<double> public_pmf_;               // [V]
  std::vector<double> member_pmfs_;              // [K * halves, V]
  int num_parts_ = 0;
  int halves_ = 1;
  bool has_public_law_ = true;
};

}  // namespace submix::mechanism

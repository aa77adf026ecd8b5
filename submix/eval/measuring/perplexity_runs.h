// Perplexity over the runs of an evaluation, and what a mechanism keeps of an improvement.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace submix::eval {

// Positions a block of the SubMix paper's perplexity has (its L).
inline constexpr std::int64_t kBlockPositions = 512;

// What one user's text lost, of all runs or of one.
struct UserLoss {
  int user = 0;  // a number that is the same under every model
  std::int64_t positions = 0;
  double nats = 0;  // their sum

  bool operator==(const UserLoss&) const = default;
};

// What a model or mechanism says of one token of text.
struct TokenScore {
  double nats = 0;            // -log of its probability
  bool is_likeliest = false;  // no other token was likelier
};

// Adds to the last user if it is the same, else behind him: users come one after the other.
void AddUserLoss(const UserLoss& loss, std::vector<UserLoss>& users);

// One run under one model or mechanism: both perplexities, top-1 accuracy, and losses by user.
class RunLosses {
 public:
  void Add(const TokenScore& token, int user) {
    AddUserLoss({user, 1, token.nats}, users_);
    sum_ += token.nats;
    block_sum_ += token.nats;
    hits_ += token.is_likeliest ? 1 : 0;
    probability_ += std::exp(-token.nats);
    ++positions_;
    if (positions_ % kBlockPositions == 0) FinishBlock();
  }
  double Perplexity() const { return std::exp(sum_ / static_cast<double>(positions_)); }
  double BlockPerplexity() const {
    const std::int64_t rest = positions_ % kBlockPositions;
    if (rest == 0) return block_perplexities_ / static_cast<double>(blocks_);
    const double last = std::exp(block_sum_ / static_cast<double>(rest));
    return (block_perplexities_ + last) / static_cast<double>(blocks_ + 1);
  }
  double Accuracy() const { return static_cast<double>(hits_) / static_cast<double>(positions_); }
  double MeanProbability() const { return probability_ / static_cast<double>(positions_); }
  const std::vector<UserLoss>& users() const { return users_; }

 private:
  void FinishBlock() {
    block_perplexities_ += std::exp(block_sum_ / static_cast<double>(kBlockPositions));
    block_sum_ = 0;
    ++blocks_;
  }

  double sum_ = 0;
  double block_sum_ = 0;
  double block_perplexities_ = 0;
  std::int64_t positions_ = 0;
  std::int64_t hits_ = 0;   // tokens that no other was likelier than
  double probability_ = 0;  // of the true tokens, their sum
  std::int64_t blocks_ = 0;
  std::vector<UserLoss> users_;
};

// Perplexities of one model or mechanism, one value a run, and its losses by user.
struct PerplexityRuns {
  std::vector<double> runs = {};  // exp of the mean loss of the run's positions
  // The SubMix paper's PP: the mean over a run's blocks of 512 consecutive positions
  // (the last may be shorter) of exp of the block's mean loss.
  std::vector<double> block_runs = {};
  // The share of positions whose most likely token is the true one.
  std::vector<double> accuracy_runs = {};
  // The mean probability of the true token: how often it is drawn.
  std::vector<double> probability_runs = {};
  std::vector<UserLoss> users = {};  // of all runs; empty for single members

  // exp of the mean loss over all runs. Requires: at least one run, here and below.
  double corpus() const;
  double block_mean() const;
  // The standard deviation of one run; NaN for a lone one.
  double deviation() const;
  // Over all runs.
  double accuracy() const;
  double probability() const;
};

// (public − private) / (public − fine_tuned) in corpus perplexity: the part of the gain of
// non-private training that remains, with a bootstrap interval over users (95 %, percentiles; the
// same for the same losses; unbounded for fewer than two users, for single members, or where a
// resample gains nothing). NaN where nothing was gained: fine-tuned is no better than public.
// Requires: the three have losses of the same users, at the same positions.
struct KeptShare {
  double value = 0;
  double low = 0;
  double high = 0;
};
KeptShare Kept(const PerplexityRuns& public_model, const PerplexityRuns& private_mechanism,
               const PerplexityRuns& fine_tuned);

}  // namespace submix::eval

#include "submix/eval/measuring/token_law.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "submix/divergence/softmax.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/simulated_deployment.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/research/any_mechanism.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

class RowLaw final : public TokenLaw {
 public:
  explicit RowLaw(std::size_t row) : row_(row) {}

  Status Next(std::span<const float> logits, std::span<double> pmf) override {
    if (!divergence::Softmax(logits.subspan(row_ * pmf.size(), pmf.size()), 1, pmf)) {
      return base::InternalError("the attacked model's logits are not finite");
    }
    return base::OkStatus();
  }
  Status Renew() override { return base::OkStatus(); }

 private:
  const std::size_t row_;
};

class MechanismLaw final : public TokenLaw {
 public:
  MechanismLaw(const SimulatedOptions& options, std::uint64_t seed)
      : options_(options), seed_(seed) {}

  Status Next(std::span<const float> logits, std::span<double> pmf) override {
    const std::size_t vocab_size = pmf.size();
    const auto rows = static_cast<std::size_t>(options_.num_parts * options_.halves);
    SUBMIX_RETURN_IF_ERROR(mapped_.Map(logits.first(vocab_size),
                                       logits.subspan(vocab_size, rows * vocab_size),
                                       options_.halves, {}));
    return simulated_->Answer(mapped_.view(), pmf);
  }

  Status Renew() override {
    auto random = RepeatableDraws(seed_, "mechanism of a law", renewals_++);
    SUBMIX_ASSIGN_OR_RETURN(simulated_, SimulatedDeployment::Create(options_, std::move(random)));
    return base::OkStatus();
  }

 private:
  const SimulatedOptions options_;
  const std::uint64_t seed_;
  std::uint64_t renewals_ = 0;
  std::optional<SimulatedDeployment> simulated_;
  mechanism::MappedPredictions mapped_;
};

// Sequences that grow together, all of them in one predictor step.
class Batch {
 public:
  Batch(ensemble::Predictor& predictor, TokenLaw& law, bool greedy, base::RandomSource& random,
        std::size_t size)
      : predictor_(predictor),
        law_(law),
        greedy_(greedy),
        random_(random),
        pmf_(static_cast<std::size_t>(predictor.vocab_size())),
        completions_(size) {
    for (std::size_t s = 0; s < size; ++s) sequences_.push_back(predictor.Open());
  }
  ~Batch() {
    for (const ensemble::SequenceId sequence : sequences_) predictor_.Close(sequence);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  // One token more for each.
  Status Extend(std::span<const base::TokenId> prompt) {
    std::vector<ensemble::Predictor::Append> appends;
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      const std::vector<base::TokenId>& tokens = completions_[s].tokens;
      appends.push_back({sequences_[s],
                         tokens.empty() ? prompt : std::span<const base::TokenId>(tokens).last(1)});
    }
    const std::size_t rows = 1 + static_cast<std::size_t>(predictor_.num_members());
    const std::size_t size = rows * pmf_.size();
    logits_.resize(sequences_.size() * size);
    SUBMIX_RETURN_IF_ERROR(predictor_.Step(appends, logits_));
    for (std::size_t s = 0; s < sequences_.size(); ++s) {
      SUBMIX_RETURN_IF_ERROR(law_.Next(std::span(logits_).subspan(s * size, size), pmf_));
      Choose(completions_[s]);
    }
    return base::OkStatus();
  }

  std::vector<Completion>& completions() { return completions_; }

 private:
  void Choose(Completion& completion) {
    const std::size_t token =
        greedy_
            ? static_cast<std::size_t>(std::max_element(pmf_.begin(), pmf_.end()) - pmf_.begin())
            : DrawIndex(pmf_, random_);
    completion.tokens.push_back(static_cast<base::TokenId>(token));
    completion.log_probability += std::log(pmf_[token]);
  }

  ensemble::Predictor& predictor_;
  TokenLaw& law_;
  const bool greedy_;
  base::RandomSource& random_;
  std::vector<double> pmf_;
  std::vector<float> logits_;
  std::vector<ensemble::SequenceId> sequences_;
  std::vector<Completion> completions_;
};

}  // namespace

std::unique_ptr<TokenLaw> MakeRowLaw(std::size_t row) { return std::make_unique<RowLaw>(row); }

StatusOr<std::unique_ptr<TokenLaw>> MakeMechanismLaw(const mechanism::MechanismOptions& options,
                                                     double epsilon, int halves,
                                                     std::uint64_t seed) {
  SUBMIX_ASSIGN_OR_RETURN(std::shared_ptr<const mechanism::Mechanism> mechanism,
                          mechanism::MakeAnyMechanism(options));
  std::unique_ptr<TokenLaw> law = std::make_unique<MechanismLaw>(
      SimulatedOptions{std::move(mechanism), options.num_parts, epsilon, halves}, seed);
  SUBMIX_RETURN_IF_ERROR(law->Renew());
  return law;
}

StatusOr<JudgedTokens> Judged(const tokenizer::Tokenizer& tokenizer, const std::string& prompt,
                              const std::string& text) {
  SUBMIX_ASSIGN_OR_RETURN(const auto alone, tokenizer.EncodePrompt(prompt));
  JudgedTokens judged;
  SUBMIX_ASSIGN_OR_RETURN(judged.tokens, tokenizer.EncodePrompt(prompt + text));
  const auto differs =
      std::mismatch(alone.begin(), alone.end(), judged.tokens.begin(), judged.tokens.end());
  judged.first = static_cast<std::size_t>(differs.first - alone.begin());
  if (judged.first == 0 || judged.first == judged.tokens.size()) {
    return base::InvalidArgumentError(
        "a prompt and a text after it are needed, each of at least one token of its own");
  }
  return judged;
}

StatusOr<std::vector<double>> LogLikelihoods(ensemble::Predictor& predictor,
                                             std::span<TokenLaw* const> laws,
                                             const JudgedTokens& judged) {
  std::vector<double> sums(laws.size(), 0);
  std::vector<double> pmf(static_cast<std::size_t>(predictor.vocab_size()));
  const auto judge = [&](std::size_t position, std::span<const float> logits) -> base::Status {
    const auto token = static_cast<std::size_t>(judged.tokens[position]);
    for (std::size_t i = 0; i < laws.size(); ++i) {
      SUBMIX_RETURN_IF_ERROR(laws[i]->Next(logits, pmf));
      sums[i] += std::log(pmf[token]);
    }
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(predictor.Score(judged.tokens, judged.first, judge));
  return sums;
}

StatusOr<std::unique_ptr<TokenLaw>> LikeliestMemberLaw(ensemble::Predictor& predictor,
                                                       std::size_t num_members,
                                                       const JudgedTokens& judged) {
  std::vector<std::unique_ptr<TokenLaw>> members;
  std::vector<TokenLaw*> laws;
  for (std::size_t m = 0; m < num_members; ++m) {
    members.push_back(MakeRowLaw(1 + m));
    laws.push_back(members.back().get());
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto sums, LogLikelihoods(predictor, laws, judged));
  const auto likeliest = std::max_element(sums.begin(), sums.end()) - sums.begin();
  return std::move(members[static_cast<std::size_t>(likeliest)]);
}

StatusOr<std::vector<Completion>> Complete(ensemble::Predictor& predictor, TokenLaw& law,
                                           std::span<const base::TokenId> prompt,
                                           const CompletionOptions& options,
                                           base::RandomSource& random) {
  std::vector<Completion> all;
  while (static_cast<int>(all.size()) < options.count) {
    const int size = std::min(kSequencesAtATime, options.count - static_cast<int>(all.size()));
    Batch batch(predictor, law, options.greedy, random, static_cast<std::size_t>(size));
    for (std::size_t t = 0; t < options.tokens; ++t) SUBMIX_RETURN_IF_ERROR(batch.Extend(prompt));
    for (Completion& completion : batch.completions()) all.push_back(std::move(completion));
  }
  return all;
}

}  // namespace submix::eval

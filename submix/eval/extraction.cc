#include "submix/eval/extraction.h"

#include <algorithm>
#include <map>
#include <vector>

#include "submix/divergence/softmax.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;

// A completion as long as the secret is enough: a longer one only costs.
std::size_t CompletionTokens(const tokenizer::Tokenizer& tokenizer,
                             const ExtractionAttack& attack) {
  return tokenizer.Encode(attack.prompt + attack.secret).size() -
         tokenizer.Encode(attack.prompt).size() + 1;
}

std::size_t DrawFromPmf(std::span<const double> pmf, base::RandomSource& random) {
  double rest = static_cast<double>(random.NextUint64() >> 11) * 0x1p-53;
  for (std::size_t x = 0; x + 1 < pmf.size(); ++x) {
    rest -= pmf[x];
    if (rest < 0) return x;
  }
  return pmf.size() - 1;
}

// Draws `count` completions of one model at a time, all sequences of a batch in one predictor step.
class MemberSampler {
 public:
  MemberSampler(ensemble::Predictor& predictor, int member, base::RandomSource& random)
      : predictor_(predictor),
        row_(1 + static_cast<std::size_t>(member)),
        random_(random),
        pmf_(static_cast<std::size_t>(predictor.vocab_size())) {}

  StatusOr<std::vector<std::vector<base::TokenId>>> Draw(const std::vector<base::TokenId>& prompt,
                                                         std::size_t count, std::size_t tokens) {
    std::vector<ensemble::SequenceId> sequences;
    for (std::size_t s = 0; s < count; ++s) sequences.push_back(predictor_.Open());
    std::vector<std::vector<base::TokenId>> completions(count);
    Status status;
    for (std::size_t t = 0; t < tokens && status.ok(); ++t) {
      status = Extend(prompt, sequences, completions);
    }
    for (const ensemble::SequenceId sequence : sequences) predictor_.Close(sequence);
    SUBMIX_RETURN_IF_ERROR(status);
    return completions;
  }

 private:
  Status Extend(const std::vector<base::TokenId>& prompt,
                const std::vector<ensemble::SequenceId>& sequences,
                std::vector<std::vector<base::TokenId>>& completions) {
    std::vector<ensemble::Predictor::Append> appends;
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      appends.push_back({sequences[s], completions[s].empty()
                                           ? std::span<const base::TokenId>(prompt)
                                           : std::span(completions[s]).last(1)});
    }
    const std::size_t rows = 1 + static_cast<std::size_t>(predictor_.num_members());
    logits_.resize(sequences.size() * rows * pmf_.size());
    SUBMIX_RETURN_IF_ERROR(predictor_.Step(appends, logits_));
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const std::size_t at = (s * rows + row_) * pmf_.size();
      if (!divergence::Softmax(std::span(logits_).subspan(at, pmf_.size()), 1, pmf_)) {
        return base::InternalError("the attacked model's logits are not finite");
      }
      completions[s].push_back(static_cast<base::TokenId>(DrawFromPmf(pmf_, random_)));
    }
    return base::OkStatus();
  }

  ensemble::Predictor& predictor_;
  const std::size_t row_;
  base::RandomSource& random_;
  std::vector<double> pmf_;
  std::vector<float> logits_;
};

}  // namespace

StatusOr<ExtractionResult> ExtractFromMember(ensemble::Predictor& predictor, int member,
                                             const tokenizer::Tokenizer& tokenizer,
                                             const ExtractionAttack& attack,
                                             base::RandomSource& random) {
  MemberSampler sampler(predictor, member, random);
  const std::vector<base::TokenId> prompt = tokenizer.Encode(attack.prompt);
  ExtractionResult result;
  while (result.attempts < attack.attempts) {
    const int count = std::min(attack.attempts_at_a_time, attack.attempts - result.attempts);
    SUBMIX_ASSIGN_OR_RETURN(
        const auto completions,
        sampler.Draw(prompt, static_cast<std::size_t>(count), CompletionTokens(tokenizer, attack)));
    for (const auto& completion : completions) {
      if (tokenizer.Decode(completion).find(attack.secret) != std::string::npos) ++result.hits;
    }
    result.attempts += count;
  }
  return result;
}

StatusOr<ExtractionResult> ExtractFromEngine(engine::EngineCore& engine,
                                             const tokenizer::Tokenizer& tokenizer,
                                             const ExtractionAttack& attack) {
  engine::Request request;
  request.prompt = tokenizer.Encode(attack.prompt);
  request.max_tokens = static_cast<int>(CompletionTokens(tokenizer, attack));
  ExtractionResult result;
  while (result.attempts < attack.attempts) {
    const int count = std::min(attack.attempts_at_a_time, attack.attempts - result.attempts);
    std::map<std::int64_t, std::string> completions;
    for (int i = 0; i < count; ++i) {
      SUBMIX_ASSIGN_OR_RETURN(const std::int64_t request_id, engine.Admit(request));
      completions[request_id];
    }
    while (!engine.idle()) {
      SUBMIX_ASSIGN_OR_RETURN(const auto events, engine.Step());
      for (const engine::TokenEvent& event : events) completions[event.request_id] += event.text;
    }
    for (const auto& [request_id, text] : completions) {
      if (text.find(attack.secret) != std::string::npos) ++result.hits;
    }
    result.attempts += count;
  }
  return result;
}

}  // namespace submix::eval

#include "submix/ensemble/predictor_checks.h"

#include <algorithm>

#include "submix/base/file_system.h"

namespace submix::ensemble {
namespace {

using base::InvalidArgumentError;
using base::Status;

Status CheckTokens(const Predictor& predictor, std::span<const base::TokenId> tokens) {
  for (const base::TokenId id : tokens) {
    if (id < 0 || id >= predictor.vocab_size()) {
      return InvalidArgumentError("token id outside the model's vocabulary of " +
                                  std::to_string(predictor.vocab_size()));
    }
  }
  return base::OkStatus();
}

Status CheckAppend(const Predictor& predictor, const Predictor::Append& append,
                   std::int64_t length) {
  if (length < 0) {
    return InvalidArgumentError("unknown sequence " + std::to_string(append.sequence));
  }
  if (append.tokens.empty()) return InvalidArgumentError("an append without tokens");
  if (length + std::ssize(append.tokens) > predictor.context_length()) {
    return InvalidArgumentError("the sequence holds " + std::to_string(length) + " tokens; " +
                                std::to_string(append.tokens.size()) +
                                " more do not fit the model's context of " +
                                std::to_string(predictor.context_length()));
  }
  return CheckTokens(predictor, append.tokens);
}

}  // namespace

std::size_t CountPredicting(std::span<const Predictor::Append> appends) {
  return static_cast<std::size_t>(std::ranges::count_if(appends, &Predictor::Append::predicts));
}

Status CheckAppends(const Predictor& predictor, std::span<const Predictor::Append> appends,
                    std::size_t logits_size,
                    const std::function<std::int64_t(SequenceId)>& length_of) {
  const std::size_t expected = CountPredicting(appends) *
                               static_cast<std::size_t>(predictor.num_members() + 1) *
                               static_cast<std::size_t>(predictor.vocab_size());
  if (logits_size != expected) {
    return InvalidArgumentError("logits: expected room for " + std::to_string(expected) +
                                " numbers, found " + std::to_string(logits_size));
  }
  for (std::size_t i = 0; i < appends.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (appends[i].sequence == appends[j].sequence) {
        return InvalidArgumentError("sequence " + std::to_string(appends[i].sequence) +
                                    " is listed twice");
      }
    }
    SUBMIX_RETURN_IF_ERROR(CheckAppend(predictor, appends[i], length_of(appends[i].sequence)));
  }
  return base::OkStatus();
}

Status CheckDocument(const Predictor& predictor, std::span<const base::TokenId> tokens,
                     std::size_t first) {
  if (first < 1) return InvalidArgumentError("the first token has nothing before it");
  if (tokens.size() > static_cast<std::size_t>(predictor.context_length()) + 1) {
    return InvalidArgumentError("a document of " + std::to_string(tokens.size()) +
                                " tokens does not fit the model's context of " +
                                std::to_string(predictor.context_length()));
  }
  return CheckTokens(predictor, tokens);
}

bool IsAdapterDirectory(const std::string& directory) {
  return base::FileExists(base::JoinPath(directory, "adapter_config.json"));
}

Status CheckMemberShape(const model::DecoderConfig& member,
                        const model::DecoderConfig& public_model, const std::string& directory) {
  model::DecoderConfig same = member;
  same.end_of_text = public_model.end_of_text;
  if (same == public_model) return base::OkStatus();
  return base::FailedPreconditionError(
      base::JoinPath(directory, "config.json") +
      ": expected the public model's shape (vocabulary " + std::to_string(public_model.vocab_size) +
      ", width " + std::to_string(public_model.width) + ", layers " +
      std::to_string(public_model.layers) + "), found another (" +
      std::to_string(member.vocab_size) + ", " + std::to_string(member.width) + ", " +
      std::to_string(member.layers) + ")");
}

}  // namespace submix::ensemble

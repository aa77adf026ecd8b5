#include "submix/ensemble/testing/fake_predictor.h"

#include <cmath>
#include <limits>

namespace submix::ensemble {

FakePredictor::FakePredictor(int num_members, int vocab_size, double spread)
    : num_members_(num_members), vocab_size_(vocab_size), spread_(spread) {}

SequenceId FakePredictor::Open() {
  sequences_[next_];
  return next_++;
}

SequenceId FakePredictor::OpenPrefix(SequenceId other, int tokens) {
  const std::vector<base::TokenId>& longer = sequences_.at(other);
  sequences_[next_].assign(longer.begin(), longer.begin() + tokens);
  return next_++;
}

void FakePredictor::Close(SequenceId sequence) { sequences_.erase(sequence); }

void FakePredictor::WriteRows(base::TokenId last, std::span<float> logits) const {
  const auto vocab = static_cast<std::size_t>(vocab_size_);
  for (int row = 0; row <= num_members_; ++row) {
    for (std::size_t x = 0; x < vocab; ++x) {
      const double phase = 1.7 * static_cast<double>(x) + 0.9 * last;
      const bool is_public = row == 0 || row == public_member_ + 1;
      const double shift = is_public ? 0 : spread_ * std::sin(phase * row + row);
      const bool is_broken =
          row == 0 ? last == breaking_token_ : row == broken_member_ + 1 && broken_member_ >= 0;
      logits[static_cast<std::size_t>(row) * vocab + x] =
          is_broken ? std::numeric_limits<float>::quiet_NaN()
                    : static_cast<float>(2 * std::cos(phase) + shift);
    }
  }
}

base::Status FakePredictor::Step(std::span<const Append> appends, std::span<float> logits) {
  for (const Append& append : appends) {
    const auto found = sequences_.find(append.sequence);
    if (found == sequences_.end()) return base::InvalidArgumentError("unknown sequence");
    if (append.tokens.empty()) return base::InvalidArgumentError("nothing to append");
    const std::size_t length = found->second.size() + append.tokens.size();
    if (length > static_cast<std::size_t>(context_length())) {
      return base::InvalidArgumentError("the context is full");
    }
  }
  const std::size_t size =
      static_cast<std::size_t>(num_members_ + 1) * static_cast<std::size_t>(vocab_size_);
  for (const Append& append : appends) {
    auto& tokens = sequences_[append.sequence];
    tokens.insert(tokens.end(), append.tokens.begin(), append.tokens.end());
    if (!append.predicts) continue;
    WriteRows(tokens.back(), logits.first(size));
    logits = logits.subspan(size);
  }
  return base::OkStatus();
}

base::Status FakePredictor::Score(std::span<const base::TokenId> tokens, std::size_t first,
                                  const PositionSink& sink) {
  std::vector<float> logits(static_cast<std::size_t>(num_members_ + 1) *
                            static_cast<std::size_t>(vocab_size_));
  for (std::size_t position = first; position < tokens.size(); ++position) {
    WriteRows(tokens[position - 1], logits);
    SUBMIX_RETURN_IF_ERROR(sink(position, logits));
  }
  return base::OkStatus();
}

}  // namespace submix::ensemble

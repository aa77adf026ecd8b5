// Models made up for attacks: digits as tokens, and one member that recites a text whose every
// digit follows from how many there are already; all others know nothing.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "submix/ensemble/predictor.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

// Token d is digit d; token 10 ends the text.
class DigitTokenizer final : public tokenizer::Tokenizer {
 public:
  static constexpr int kDigits = 10;

  int vocab_size() const override { return kDigits + 1; }
  std::size_t longest_token_bytes() const override { return 1; }
  base::TokenId end_of_text() const override { return kDigits; }
  base::StatusOr<std::vector<base::TokenId>> Encode(std::string_view bytes) const override {
    std::vector<base::TokenId> tokens;
    for (const char byte : bytes) tokens.push_back(byte - '0');
    return tokens;
  }
  std::string Decode(std::span<const base::TokenId> tokens) const override {
    std::string bytes;
    for (const base::TokenId token : tokens) {
      if (token < kDigits) bytes.push_back(static_cast<char>('0' + token));
    }
    return bytes;
  }
};

// After two tokens member 1 recites 314159314159…, with `certainty` nats more on each digit than on
// the others.
class RecitingPredictor final : public ensemble::Predictor {
 public:
  static constexpr int kMembers = 4;

  explicit RecitingPredictor(float certainty = 12) : certainty_(certainty) {}

  int num_members() const override { return kMembers; }
  int vocab_size() const override { return DigitTokenizer::kDigits + 1; }
  int context_length() const override { return 32; }
  ensemble::SequenceId Open() override {
    lengths_.push_back(0);
    return static_cast<ensemble::SequenceId>(lengths_.size()) - 1;
  }
  void Close(ensemble::SequenceId) override {}
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override {
    const std::size_t size = Rows();
    for (const Append& append : appends) {
      std::size_t& length = lengths_[static_cast<std::size_t>(append.sequence)];
      length += append.tokens.size();
      if (!append.predicts) continue;
      Write(length, logits.first(size));
      logits = logits.subspan(size);
    }
    return base::OkStatus();
  }
  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override {
    std::vector<float> logits(Rows());
    for (std::size_t t = first; t < tokens.size(); ++t) {
      Write(t, logits);
      SUBMIX_RETURN_IF_ERROR(sink(t, logits));
    }
    return base::OkStatus();
  }

 private:
  std::size_t Rows() const {
    return static_cast<std::size_t>((kMembers + 1) * (DigitTokenizer::kDigits + 1));
  }
  void Write(std::size_t length, std::span<float> logits) const {
    constexpr int kSecret[] = {3, 1, 4, 1, 5, 9};
    std::fill(logits.begin(), logits.end(), 0.0f);
    const std::size_t row = 2 * (DigitTokenizer::kDigits + 1);
    logits[row + static_cast<std::size_t>(kSecret[(length + 4) % 6])] = certainty_;
  }

  const float certainty_;
  std::vector<std::size_t> lengths_;
};

}  // namespace submix::eval

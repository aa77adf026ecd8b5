// A predictor without a language model: logits are a fixed function of (row, last token), so that
// tests of the bridge know every pmf. Products cannot link it.
#pragma once

#include <map>
#include <vector>

#include "submix/ensemble/predictor.h"

namespace submix::ensemble {

class FakePredictor final : public Predictor {
 public:
  // Member m's logits differ from the public model's by at most `spread`.
  FakePredictor(int num_members, int vocab_size, double spread);

  int num_members() const override { return num_members_; }
  int vocab_size() const override { return vocab_size_; }
  int context_length() const override { return 64; }
  SequenceId Open() override;
  void Close(SequenceId sequence) override;
  int prefix_granule() const override { return 4; }
  SequenceId OpenPrefix(SequenceId other, int tokens) override;
  base::Status Step(std::span<const Append> appends, std::span<float> logits) override;
  base::Status Score(std::span<const base::TokenId> tokens, std::size_t first,
                     const PositionSink& sink) override;

  // Breaks a member: its logits are NaN from now on.
  void BreakMember(int member) { broken_member_ = member; }
  // Takes a member's text away: its logits are the public model's from now on.
  void MakeMemberPublic(int member) { public_member_ = member; }
  // Breaks the public model: its logits are NaN after this token.
  void BreakPublicModelAfter(base::TokenId token) { breaking_token_ = token; }
  std::size_t open_sequences() const { return sequences_.size(); }
  const std::vector<base::TokenId>& tokens(SequenceId sequence) const {
    return sequences_.at(sequence);
  }

 private:
  void WriteRows(base::TokenId last, std::span<float> logits) const;

  const int num_members_;
  const int vocab_size_;
  const double spread_;
  int broken_member_ = -1;
  int public_member_ = -1;
  base::TokenId breaking_token_ = -1;
  SequenceId next_ = 1;
  std::map<SequenceId, std::vector<base::TokenId>> sequences_;
};

}  // namespace submix::ensemble

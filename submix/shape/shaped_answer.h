// One answer that has a shape: what may come next, token by token.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "submix/base/ids.h"
#include "submix/shape/token_automaton.h"

namespace submix::shape {

// One thread at a time. A function of the shape, what ends an answer, its length, and its tokens.
class ShapedAnswer {
 public:
  // `end_tokens`: those that end an answer and that the model predicts; none of them is text of the
  // vocabulary. `max_tokens` >= 1.
  ShapedAnswer(std::shared_ptr<const TokenAutomaton> shape, std::vector<base::TokenId> end_tokens,
               int max_tokens);
  // An answer of one token: one of these. Requires: ascending, at least one.
  explicit ShapedAnswer(std::vector<base::TokenId> one_of)
      : end_tokens_(std::move(one_of)), left_(1) {}

  // False: no answer of so many tokens has the shape.
  bool is_possible() const;
  // The tokens that may come next, ascending; one that is alone is forced. Not empty if the answer
  // is possible and has not ended.
  std::vector<base::TokenId> Support() const;
  // Requires: a token of Support().
  void Accept(base::TokenId token);
  // By a token that ends it, because nothing can follow, or because its tokens are used up; the
  // first two: is_complete.
  bool has_ended() const { return is_complete_ || left_ == 0; }
  bool is_complete() const { return is_complete_; }

 private:
  std::shared_ptr<const TokenAutomaton> shape_;  // null: no text before what ends it
  std::vector<base::TokenId> end_tokens_;
  int left_;
  int state_ = 0;
  bool is_complete_ = false;
};

}  // namespace submix::shape

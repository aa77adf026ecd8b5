#include "submix/shape/shaped_answer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "submix/base/check.h"

namespace submix::shape {

ShapedAnswer::ShapedAnswer(std::shared_ptr<const TokenAutomaton> shape,
                           std::vector<base::TokenId> end_tokens, int max_tokens)
    : shape_(std::move(shape)),
      end_tokens_(std::move(end_tokens)),
      left_(max_tokens),
      state_(shape_->start()) {
  std::ranges::sort(end_tokens_);
  end_tokens_.erase(std::unique(end_tokens_.begin(), end_tokens_.end()), end_tokens_.end());
}

bool ShapedAnswer::is_possible() const {
  if (shape_ == nullptr) return true;
  return shape_->TokensNeeded(state_) <= left_ && !Support().empty();
}

std::vector<base::TokenId> ShapedAnswer::Support() const {
  if (shape_ == nullptr) return end_tokens_;
  const std::vector<base::TokenId> text = shape_->Allowed(state_, left_);
  if (!shape_->MayEnd(state_)) return text;
  std::vector<base::TokenId> support;
  std::ranges::set_union(text, end_tokens_, std::back_inserter(support));
  return support;
}

void ShapedAnswer::Accept(base::TokenId token) {
  SUBMIX_CHECK(!has_ended(), "an answer that goes on");
  --left_;
  if (std::ranges::binary_search(end_tokens_, token)) {
    is_complete_ = true;
    return;
  }
  state_ = shape_->Next(state_, token);
  SUBMIX_CHECK(state_ != Automaton::kNone, "a token that may come next");
  is_complete_ = shape_->IsComplete(state_) ||
                 (left_ > 0 && shape_->MayEnd(state_) && shape_->Allowed(state_, left_).empty());
}

}  // namespace submix::shape

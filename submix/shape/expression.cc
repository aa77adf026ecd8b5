#include "submix/shape/expression.h"

#include <utility>

#include "submix/base/check.h"

namespace submix::shape {
namespace {

using Kind = ExpressionNode::Kind;

Expression Make(ExpressionNode node) {
  return std::make_shared<const ExpressionNode>(std::move(node));
}

}  // namespace

Expression Bytes(const ByteSet& bytes) { return Make({.kind = Kind::kBytes, .bytes = bytes}); }

Expression Text(std::string_view text) {
  return Make({.kind = Kind::kText, .text = std::string(text)});
}

Expression Concat(std::vector<Expression> children) {
  return Make({.kind = Kind::kConcat, .children = std::move(children)});
}

Expression AnyOf(std::vector<Expression> children) {
  return Make({.kind = Kind::kAnyOf, .children = std::move(children)});
}

Expression Repeat(Expression child, int least, int most, std::string_view separator) {
  SUBMIX_CHECK(least >= 0 && (most == kUnbounded || least <= most), "a repetition without a count");
  return Make({.kind = Kind::kRepeat,
               .children = {std::move(child)},
               .least = least,
               .most = most,
               .separator = std::string(separator)});
}

Expression Optional(Expression child) { return Repeat(std::move(child), 0, 1); }

Expression Members(std::vector<Expression> children, std::vector<bool> is_required,
                   std::string_view separator) {
  SUBMIX_CHECK(children.size() == is_required.size(), "a flag for each member");
  return Make({.kind = Kind::kMembers,
               .children = std::move(children),
               .is_required = std::move(is_required),
               .separator = std::string(separator)});
}

}  // namespace submix::shape

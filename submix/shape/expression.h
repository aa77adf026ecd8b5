// What all shapes are written as: a regular expression over bytes, as an immutable tree whose
// branches may be shared.
#pragma once

#include <bitset>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace submix::shape {

using ByteSet = std::bitset<256>;

struct ExpressionNode;
using Expression = std::shared_ptr<const ExpressionNode>;  // never null

inline constexpr int kUnbounded = -1;

struct ExpressionNode {
  enum class Kind {
    kBytes,    // one byte of `bytes`
    kText,     // exactly `text`, which may be empty
    kConcat,   // the children, one after another
    kAnyOf,    // one of the children; without children nothing at all, not even the empty text
    kRepeat,   // the one child, `least` to `most` times, with `separator` between
    kMembers,  // the children in order, the required ones and any others, with `separator` between
  };
  Kind kind = Kind::kText;
  ByteSet bytes = {};
  std::string text = {};
  std::vector<Expression> children = {};
  std::vector<bool> is_required = {};  // [children]
  int least = 0;
  int most = 0;  // or kUnbounded
  std::string separator = {};
};

Expression Bytes(const ByteSet& bytes);
Expression Text(std::string_view text);
Expression Concat(std::vector<Expression> children);
Expression AnyOf(std::vector<Expression> children);
// Requires: 0 <= least, and least <= most or most == kUnbounded.
Expression Repeat(Expression child, int least, int most, std::string_view separator = {});
Expression Optional(Expression child);
// Requires: a flag for each child.
Expression Members(std::vector<Expression> children, std::vector<bool> is_required,
                   std::string_view separator);

}  // namespace submix::shape

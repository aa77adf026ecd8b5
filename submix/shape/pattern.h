// Regular expressions as clients write them. What is read means what Python's `re` means by it with
// re.ASCII, for a whole text:
//
//     literals, `.` (any character but a line feed), [classes] and [^classes] with ranges,
//     ( ) and (?: ), |, * + ? {m} {m,} {,n} {m,n} (a `?` behind them changes nothing),
//     \d \D \s \S \w \W, \t \n \r \f \v \a \0, \xhh, \uhhhh, and \ before anything that is no
//     letter or digit; ^ at the beginning and $ at the end of the whole or of one of its
//     alternatives.
//
// Everything else (look-around, back references, \b, flags, possessive repetition) is refused.
#pragma once

#include <string_view>

#include "submix/base/status.h"
#include "submix/shape/characters.h"
#include "submix/shape/expression.h"

namespace submix::shape {

inline constexpr std::size_t kMostPatternBytes = 4096;

struct PatternReading {
  // How a character of the text is written.
  Expression (*write)(const CharacterSet&) = Utf8;
  // The pattern may stand anywhere in the text, as in a JSON schema: what ^ or $ does not hold to
  // an end may have anything beside it.
  bool anywhere = false;
};

// Errors: kInvalidArgument, naming the construct and where it stands.
base::StatusOr<Expression> ReadPattern(std::string_view pattern,
                                       const PatternReading& reading = {});

}  // namespace submix::shape

#include "submix/shape/pattern.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/check.h"

namespace submix::shape {
namespace {

using base::StatusOr;

constexpr int kMostGroups = 64;        // groups within each other
constexpr int kMostRepeats = 100'000;  // the automaton's own bound comes first

const CharacterSet& Digits() {
  static const CharacterSet set = {{'0', '9'}};
  return set;
}

const CharacterSet& Spaces() {
  static const CharacterSet set = {{'\t', '\r'}, {' ', ' '}};
  return set;
}

const CharacterSet& WordCharacters() {
  static const CharacterSet set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return set;
}

bool IsAsciiAlphanumeric(char32_t c) {
  return c < 0x80 && c != '_' &&
         std::ranges::any_of(WordCharacters(), [&](const CharacterRange& range) {
           return range.first <= c && c <= range.last;
         });
}

class PatternReader {
 public:
  PatternReader(std::u32string_view pattern, const PatternReading& reading)
      : pattern_(pattern), reading_(reading) {}

  StatusOr<Expression> Read() {
    SUBMIX_ASSIGN_OR_RETURN(Expression whole, ReadAlternatives(0));
    if (!AtEnd()) return Refuse("a ) without its (");
    return whole;
  }

 private:
  bool AtEnd() const { return at_ == pattern_.size(); }
  bool Next(char32_t c) const { return !AtEnd() && pattern_[at_] == c; }
  bool Take(char32_t c) {
    if (!Next(c)) return false;
    ++at_;
    return true;
  }
  base::Status Refuse(const std::string& what) const {
    return base::InvalidArgumentError("the regular expression at character " +
                                      std::to_string(at_ + 1) + ": " + what);
  }
  // One expression a set, however often the pattern names it.
  Expression Write(const CharacterSet& set) {
    Expression& written = written_[set];
    if (written == nullptr) written = reading_.write(set);
    return written;
  }
  Expression Anything() { return Repeat(Write(AllCharacters()), 0, kUnbounded); }

  StatusOr<Expression> ReadAlternatives(int depth) {
    if (depth > kMostGroups) {
      return Refuse("more than " + std::to_string(kMostGroups) + " groups within each other");
    }
    std::vector<Expression> choices;
    do {
      SUBMIX_ASSIGN_OR_RETURN(Expression choice, ReadSequence(depth));
      choices.push_back(std::move(choice));
    } while (Take('|'));
    return choices.size() == 1 ? choices.front() : AnyOf(std::move(choices));
  }

  StatusOr<Expression> ReadSequence(int depth) {
    const bool is_outermost = depth == 0;
    std::vector<Expression> items;
    const bool from_beginning = is_outermost && Take('^');
    if (is_outermost && !from_beginning && reading_.anywhere) items.push_back(Anything());
    bool to_end = false;
    while (!AtEnd() && !Next('|') && !Next(')')) {
      if (is_outermost && Next('$') && (at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|')) {
        ++at_;
        to_end = true;
        break;
      }
      SUBMIX_ASSIGN_OR_RETURN(Expression item, ReadAtom(depth));
      SUBMIX_ASSIGN_OR_RETURN(item, ReadRepetition(std::move(item)));
      items.push_back(std::move(item));
    }
    if (is_outermost && !to_end && reading_.anywhere) items.push_back(Anything());
    return Concat(std::move(items));
  }

  struct Count {
    int least = 0;
    int most = 0;
    std::size_t end = 0;  // where it ends
  };

  // Of {m}, {m,}, {,n} and {m,n}; none where a { stands for itself.
  std::optional<Count> FindCount() const {
    std::size_t at = at_ + 1;
    const auto number = [&]() -> std::optional<int> {
      std::optional<int> value;
      for (; at < pattern_.size() && pattern_[at] >= '0' && pattern_[at] <= '9'; ++at) {
        value = std::min(kMostRepeats + 1,
                         value.value_or(0) * 10 + static_cast<int>(pattern_[at] - '0'));
      }
      return value;
    };
    const auto is = [&](char32_t c) { return at < pattern_.size() && pattern_[at] == c; };
    const std::optional<int> least = number();
    if (least && is('}')) return Count{*least, *least, at + 1};
    if (!is(',')) return std::nullopt;
    ++at;
    const std::optional<int> most = number();
    if (!is('}') || (!least && !most)) return std::nullopt;
    return Count{least.value_or(0), most.value_or(kUnbounded), at + 1};
  }

  std::optional<Count> FindRepetition() const {
    if (Next('*')) return Count{0, kUnbounded, at_ + 1};
    if (Next('+')) return Count{1, kUnbounded, at_ + 1};
    if (Next('?')) return Count{0, 1, at_ + 1};
    return Next('{') ? FindCount() : std::nullopt;
  }

  StatusOr<Expression> ReadRepetition(Expression item) {
    const std::optional<Count> count = FindRepetition();
    if (!count) return item;
    if (std::max(count->least, count->most) > kMostRepeats) {
      return Refuse("a count above " + std::to_string(kMostRepeats));
    }
    if (count->most != kUnbounded && count->most < count->least) {
      return Refuse("a count whose end is below its beginning");
    }
    at_ = count->end;
    if (Next('+')) return Refuse("a repetition that gives nothing back (possessive)");
    Take('?');
    if (FindRepetition()) return Refuse("a repetition of a repetition; put the first in ( )");
    return Repeat(std::move(item), count->least, count->most);
  }

  StatusOr<Expression> ReadAtom(int depth) {
    if (FindRepetition()) return Refuse("nothing stands before the repetition");
    const char32_t c = pattern_[at_];
    if (c == '(') return ReadGroup(depth);
    if (c == '[') return ReadClass();
    if (c == '^' || c == '$') {
      return Refuse("^ and $ stand at the ends of the whole or of its alternatives only");
    }
    if (c == '\\') {
      SUBMIX_ASSIGN_OR_RETURN(const CharacterSet set, ReadEscape(false));
      return Write(set);
    }
    ++at_;
    if (c == '.') return Write(AllBut({{'\n', '\n'}}));
    return Write({{c, c}});
  }

  StatusOr<Expression> ReadGroup(int depth) {
    ++at_;
    if (Take('?') && !Take(':')) return Refuse("of the groups (?…) only (?:…) is read");
    SUBMIX_ASSIGN_OR_RETURN(Expression inside, ReadAlternatives(depth + 1));
    if (!Take(')')) return Refuse("a ( without its )");
    return inside;
  }

  StatusOr<char32_t> ReadHex(int digits) {
    char32_t value = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char32_t c = AtEnd() ? U' ' : pattern_[at_];
      const bool is_digit = c >= '0' && c <= '9';
      const char32_t letter = c | 0x20;
      if (!is_digit && !(letter >= 'a' && letter <= 'f')) {
        return Refuse("expected " + std::to_string(digits) + " hexadecimal digits");
      }
      value = value * 16 + (is_digit ? c - '0' : letter - 'a' + 10);
    }
    if (value >= 0xD800 && value <= 0xDFFF) return Refuse("half of a surrogate pair");
    return value;
  }

  // The characters that an escape stands for.
  StatusOr<CharacterSet> ReadEscape(bool in_class) {
    ++at_;
    if (AtEnd()) return Refuse("a \\ without what it escapes");
    const char32_t c = pattern_[at_++];
    switch (c) {
      case 'd':
        return Digits();
      case 'D':
        return AllBut(Digits());
      case 's':
        return Spaces();
      case 'S':
        return AllBut(Spaces());
      case 'w':
        return WordCharacters();
      case 'W':
        return AllBut(WordCharacters());
      case 't':
        return CharacterSet{{'\t', '\t'}};
      case 'n':
        return CharacterSet{{'\n', '\n'}};
      case 'r':
        return CharacterSet{{'\r', '\r'}};
      case 'f':
        return CharacterSet{{'\f', '\f'}};
      case 'v':
        return CharacterSet{{'\v', '\v'}};
      case 'a':
        return CharacterSet{{'\a', '\a'}};
      case 'x':
      case 'u': {
        SUBMIX_ASSIGN_OR_RETURN(const char32_t value, ReadHex(c == 'x' ? 2 : 4));
        return CharacterSet{{value, value}};
      }
      case 'b':
        if (in_class) return CharacterSet{{'\b', '\b'}};
        break;
      case '0':
        if (AtEnd() || pattern_[at_] < '0' || pattern_[at_] > '7') return CharacterSet{{0, 0}};
        break;
      default:
        if (!IsAsciiAlphanumeric(c)) return CharacterSet{{c, c}};
    }
    at_ -= 2;
    return Refuse("the escape \\" + std::string(1, static_cast<char>(c)) + " is not read");
  }

  StatusOr<CharacterSet> ReadClassMember() {
    if (Next('\\')) return ReadEscape(true);
    const char32_t c = pattern_[at_++];
    return CharacterSet{{c, c}};
  }

  StatusOr<Expression> ReadClass() {
    ++at_;
    const bool is_negated = Take('^');
    std::vector<CharacterRange> ranges;
    bool is_first = true;
    for (; is_first || !Next(']'); is_first = false) {
      if (AtEnd()) return Refuse("a [ without its ]");
      SUBMIX_ASSIGN_OR_RETURN(const CharacterSet low, ReadClassMember());
      const bool is_range = Next('-') && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']';
      if (!is_range) {
        ranges.insert(ranges.end(), low.begin(), low.end());
        continue;
      }
      ++at_;
      SUBMIX_ASSIGN_OR_RETURN(const CharacterSet high, ReadClassMember());
      const auto is_one = [](const CharacterSet& set) {
        return set.size() == 1 && set.front().first == set.front().last;
      };
      if (!is_one(low) || !is_one(high) || high.front().first < low.front().first) {
        return Refuse("a range in [ ] whose ends are no characters in order");
      }
      ranges.push_back({low.front().first, high.front().first});
    }
    ++at_;
    const CharacterSet set = CharactersOf(std::move(ranges));
    return Write(is_negated ? AllBut(set) : set);
  }

  const std::u32string_view pattern_;
  const PatternReading reading_;
  std::size_t at_ = 0;
  std::map<CharacterSet, Expression> written_;
};

}  // namespace

StatusOr<Expression> ReadPattern(std::string_view pattern, const PatternReading& reading) {
  if (pattern.size() > kMostPatternBytes) {
    return base::InvalidArgumentError("the regular expression has " +
                                      std::to_string(pattern.size()) + " bytes: at most " +
                                      std::to_string(kMostPatternBytes) + " are read");
  }
  const auto characters = CharactersOfText(pattern);
  if (!characters) return base::InvalidArgumentError("the regular expression is not UTF-8");
  return PatternReader(*characters, reading).Read();
}

}  // namespace submix::shape

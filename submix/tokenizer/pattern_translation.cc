// TranslatePattern of regular_expression.h.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "submix/tokenizer/regular_expression.h"

namespace submix::tokenizer {
namespace {

using base::Status;

// Unicode's White_Space is spelt out: PCRE2's own \s also takes U+180E, which Unicode took out.
constexpr std::string_view kWhiteSpace = R"(\p{Z}\x{09}-\x{0d}\x{85})";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class PatternTranslator {
 public:
  explicit PatternTranslator(std::string_view pattern) : pattern_(pattern) {}

  base::StatusOr<std::string> Translate() {
    while (!AtEnd()) SUBMIX_RETURN_IF_ERROR(TakeOne());
    if (!groups_.empty()) return Unsupported("a group that is not closed");
    return std::move(translated_);
  }

 private:
  bool AtEnd() const { return position_ == pattern_.size(); }
  std::string_view Rest() const { return pattern_.substr(position_); }
  void Copy(std::size_t size) {
    translated_ += pattern_.substr(position_, size);
    position_ += size;
  }
  // Steps over `from` and writes `to` in its place.
  void Write(std::size_t from, std::string_view to) {
    translated_ += to;
    position_ += from;
  }
  static Status Unsupported(const std::string& what) {
    return base::InvalidArgumentError("a regular expression with " + what + " is not supported");
  }

  // Looked for from every character, it would take time with the square of the text or worse.
  static Status UnboundedLook() { return Unsupported("an unbounded repetition in a look-ahead"); }

  struct Group {
    bool ignores_case = false;
    bool looks_ahead = false;  // or stands in one that does
  };

  Status TakeOne() {
    switch (Rest().front()) {
      case '\\':
        return TakeEscape(false);
      case '[':
        return TakeClass();
      case '(':
        return TakeGroup();
      case ')':
        return CloseGroup();
      case '{':
        return TakeCount();
      case '*':
      case '+':
        if (!groups_.empty() && groups_.back().looks_ahead) return UnboundedLook();
        Copy(1);
        return base::OkStatus();
      case '.':
      case '^':
      case '$':
        return Unsupported("\"" + std::string(1, Rest().front()) + "\"");
      default:
        Copy(1);
        return base::OkStatus();
    }
  }

  Status TakeGroup() {
    for (const std::string_view opening : {"(?:", "(?i:", "(?!", "(?="}) {
      if (!Rest().starts_with(opening)) continue;
      Group group = groups_.empty() ? Group() : groups_.back();
      group.ignores_case |= opening == "(?i:";
      group.looks_ahead |= opening == "(?!" || opening == "(?=";
      groups_.push_back(group);
      Copy(opening.size());
      return base::OkStatus();
    }
    if (Rest().starts_with("(?") || Rest().starts_with("(*")) {
      return Unsupported("\"" + std::string(Rest().substr(0, 3)) + "\"");
    }
    groups_.push_back(groups_.empty() ? Group() : groups_.back());
    Write(1, "(?:");  // nobody asks for what a group has matched
    return base::OkStatus();
  }

  Status CloseGroup() {
    if (groups_.empty()) return Unsupported("an unmatched \")\"");
    groups_.pop_back();
    Copy(1);
    if (!AtEnd() && std::string_view("*+{").find(Rest().front()) != std::string_view::npos) {
      return Unsupported("a group that is repeated");
    }
    return base::OkStatus();
  }

  // {3}, {1,3}, {1,}. Oniguruma reads {,3} as a count, and a + behind any as another quantifier.
  Status TakeCount() {
    std::size_t size = 1;
    const auto skip_digits = [&] {
      while (size < Rest().size() && IsDigit(Rest()[size])) ++size;
    };
    skip_digits();
    const bool has_least = size > 1;
    if (size < Rest().size() && Rest()[size] == ',') {
      const std::size_t comma = size++;
      skip_digits();
      const bool is_unbounded = size == comma + 1;
      if (is_unbounded && !groups_.empty() && groups_.back().looks_ahead) return UnboundedLook();
    }
    const bool is_closed = size < Rest().size() && Rest()[size] == '}';
    if (!has_least || !is_closed || Rest().substr(size + 1).starts_with('+')) {
      return Unsupported("\"{\" that is not of the form {1}, {1,2} or {1,}");
    }
    Copy(size + 1);
    return base::OkStatus();
  }

  Status TakeEscape(bool in_class) {
    if (Rest().size() < 2) return Unsupported("a backslash at its end");
    const char kind = Rest()[1];
    const std::string white_space(kWhiteSpace);
    if (std::string_view("sSdDpP").find(kind) != std::string_view::npos && !groups_.empty() &&
        groups_.back().ignores_case) {
      return Unsupported("a class inside (?i:");
    }
    if (kind == 's') {
      Write(2, in_class ? white_space : "[" + white_space + "]");
    } else if (kind == 'S' && !in_class) {
      Write(2, "[^" + white_space + "]");
    } else if (kind == 'd' || kind == 'D') {
      Write(2, kind == 'd' ? R"(\p{Nd})" : R"(\P{Nd})");
    } else if (kind == 'p' || kind == 'P') {
      return TakeProperty();
    } else if (kind == 'r' || kind == 'n' || kind == 't' ||
               (kind > ' ' && kind < 0x7f && !IsLetter(kind) && !IsDigit(kind))) {
      Copy(2);
    } else {
      return Unsupported("\"\\" + std::string(1, kind) + "\"" + (in_class ? " in a class" : ""));
    }
    return base::OkStatus();
  }

  // \p{L}, \p{Lu}, \p{Han}. A script by itself is asked of PCRE2, which would take its extensions.
  Status TakeProperty() {
    const std::size_t end = Rest().find('}');
    if (end == std::string_view::npos || Rest()[2] != '{') {
      return Unsupported("a property without braces");
    }
    const std::string_view name = Rest().substr(3, end - 3);
    if (name.empty() || !std::ranges::all_of(name, IsLetter)) {
      return Unsupported("the property \"" + std::string(name) + "\"");
    }
    const std::string script = name.size() > 2 ? "sc:" : "";
    Write(end + 1, std::string(Rest().substr(0, 3)) + script + std::string(name) + "}");
    return base::OkStatus();
  }

  Status TakeClass() {
    Copy(Rest().starts_with("[^") ? 2 : 1);
    if (!AtEnd() && Rest().front() == ']') return Unsupported("an empty class");
    while (!AtEnd() && Rest().front() != ']') {
      if (Rest().front() == '[' || Rest().starts_with("&&")) {
        return Unsupported("a class within a class");
      }
      if (Rest().front() == '\\') {
        SUBMIX_RETURN_IF_ERROR(TakeEscape(true));
      } else {
        Copy(1);
      }
    }
    if (AtEnd()) return Unsupported("a class that is not closed");
    Copy(1);
    return base::OkStatus();
  }

  std::string_view pattern_;
  std::size_t position_ = 0;
  std::string translated_;
  std::vector<Group> groups_;  // that are open
};

}  // namespace

base::StatusOr<std::string> TranslatePattern(std::string_view pattern) {
  return PatternTranslator(pattern).Translate();
}

}  // namespace submix::tokenizer

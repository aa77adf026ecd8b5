#include "submix/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "submix/base/json_object.h"
#include "submix/jinja/text.h"

namespace submix::jinja {
namespace {

using base::Status;
using base::StatusOr;

// Line ends as one character, and none at the very end.
std::string Normalized(std::string_view source) {
  std::string out;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool is_pair = source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n';
    if (!is_pair) out += source[i] == '\r' ? '\n' : source[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsNameByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDecimal(char c) { return c >= '0' && c <= '9'; }

// Of up to eight digits; -1 if one is none.
std::int64_t HexValue(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) return -1;
    value = value * 16 + (IsDecimal(c) ? c - '0' : std::tolower(c) - 'a' + 10);
  }
  return value;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(Normalized(source)) {}

  StatusOr<std::vector<Token>> Run() {
    while (at_ < source_.size()) SUBMIX_RETURN_IF_ERROR(TakeDataAndTag());
    Add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Status Error(const std::string& what) const {
    return base::InvalidArgumentError("line " + std::to_string(line_) + ": " + what);
  }
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool Sees(std::string_view text) const { return rest().starts_with(text); }
  void Advance(std::size_t bytes) {
    line_ += static_cast<int>(std::ranges::count(rest().substr(0, bytes), '\n'));
    at_ += bytes;
  }
  void SkipSpace() {
    while (at_ < source_.size()) {
      const CodePoint c = CodePointAt(source_, at_);
      if (!IsSpace(c.value)) return;
      Advance(c.size);
    }
  }
  void Add(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, std::string(text), line_});
  }

  // The next tag's beginning, or the end.
  std::size_t FindTag(std::size_t from) const {
    for (std::size_t i = source_.find('{', from); i < source_.size();
         i = source_.find('{', i + 1)) {
      const char kind = i + 1 < source_.size() ? source_[i + 1] : ' ';
      if (kind == '{' || kind == '%' || kind == '#') return i;
    }
    return source_.size();
  }

  // `data` as a tag with this sign leaves it. `is_output`: what blocks and comments strip stays.
  std::string_view Stripped(std::string_view data, char sign, bool is_output) const {
    if (sign == '-') {
      std::size_t end = 0;
      for (std::size_t i = 0; i < data.size();) {
        const CodePoint c = CodePointAt(data, i);
        i += c.size;
        if (!IsSpace(c.value)) end = i;
      }
      return data.substr(0, end);
    }
    if (sign == '+' || is_output) return data;
    const std::size_t line_begin = data.rfind('\n') + 1;  // 0 if there is none
    const bool at_line_begin = line_begin > 0 || line_starts_;
    if (at_line_begin && std::ranges::all_of(data.substr(line_begin), IsAsciiSpace)) {
      data = data.substr(0, line_begin);
    }
    return data;
  }

  char SignAt(std::size_t position) const {
    const char c = position < source_.size() ? source_[position] : ' ';
    return c == '-' || c == '+' ? c : ' ';
  }

  Status TakeDataAndTag() {
    const std::size_t tag = FindTag(at_);
    const std::string_view data = std::string_view(source_).substr(at_, tag - at_);
    const char kind = tag < source_.size() ? source_[tag + 1] : ' ';
    const char sign = SignAt(tag + 2);
    const std::string_view kept = kind == ' ' ? data : Stripped(data, sign, kind == '{');
    if (!kept.empty()) Add(TokenKind::kData, kept);
    Advance(data.size());
    if (kind == ' ') return base::OkStatus();
    Advance(sign == ' ' ? 2 : 3);
    if (kind == '#') return TakeComment();
    if (kind == '{') return TakeTag(TokenKind::kBeginOutput, TokenKind::kEndOutput, "}}");
    if (const auto raw = RawBegin()) return TakeRaw(*raw);
    return TakeTag(TokenKind::kBeginBlock, TokenKind::kEndBlock, "%}");
  }

  // What ends a tag, at the place reached: takes it, and the white space behind it that goes.
  bool TakeEnd(std::string_view end) {
    const char sign = SignAt(at_);
    const std::size_t begin = at_;
    const bool is_signed =
        sign != ' ' && rest().substr(1).starts_with(end) && (sign == '-' || end != "}}");
    if (!is_signed && !Sees(end)) return false;
    Advance(end.size() + (is_signed ? 1 : 0));
    if (is_signed && sign == '-') {
      SkipSpace();
    } else if (!is_signed && end != "}}" && Sees("\n")) {
      Advance(1);
    }
    line_starts_ = at_ > begin && source_[at_ - 1] == '\n';
    return true;
  }

  Status TakeComment() {
    for (; at_ < source_.size(); Advance(1)) {
      if (TakeEnd("#}")) return base::OkStatus();
    }
    return Error("a comment has no end");
  }

  // Behind "{%": the size of "raw %}".
  std::optional<std::size_t> RawBegin() const {
    std::size_t i = at_;
    const auto skip = [&] {
      while (i < source_.size() && IsAsciiSpace(source_[i])) ++i;
    };
    const auto sees = [&](std::string_view text) {
      return std::string_view(source_).substr(i).starts_with(text);
    };
    skip();
    if (!sees("raw")) return std::nullopt;
    i += 3;
    skip();
    if (sees("%}")) return i + 2 - at_;
    if (!sees("-%}")) return std::nullopt;
    i += 3;
    skip();
    return i - at_;
  }
  Status TakeRaw(std::size_t begin) {
    Advance(begin);
    line_starts_ = source_[at_ - 1] == '\n';
    for (std::size_t tag = source_.find("{%", at_); tag != std::string::npos;
         tag = source_.find("{%", tag + 1)) {
      const char sign = SignAt(tag + 2);
      std::size_t i = tag + (sign == ' ' ? 2 : 3);
      while (i < source_.size() && IsAsciiSpace(source_[i])) ++i;
      if (!std::string_view(source_).substr(i).starts_with("endraw")) continue;
      const std::string_view data = std::string_view(source_).substr(at_, tag - at_);
      const std::string_view kept = Stripped(data, sign, /*is_output=*/false);
      if (!kept.empty()) Add(TokenKind::kData, kept);
      Advance(i + 6 - at_);
      SkipSpace();
      return TakeEnd("%}") ? base::OkStatus() : Error("'endraw' is not followed by \"%}\"");
    }
    return Error("a raw block has no end");
  }

  Status TakeTag(TokenKind begin, TokenKind end_kind, std::string_view end) {
    Add(begin, "");
    std::string open;  // brackets: what ends a tag does not, within them
    while (true) {
      SkipSpace();
      if (at_ == source_.size()) return Error("a tag has no end");
      if (open.empty() && TakeEnd(end)) {
        Add(end_kind, "");
        return base::OkStatus();
      }
      const char c = source_[at_];
      if (c == '"' || c == '\'') {
        SUBMIX_RETURN_IF_ERROR(TakeString(c));
      } else if (IsDecimal(c)) {
        TakeNumber();
      } else if (IsNameByte(c)) {
        const auto name = rest();
        const auto size = std::ranges::find_if_not(name, IsNameByte) - name.begin();
        Add(TokenKind::kName, name.substr(0, static_cast<std::size_t>(size)));
        at_ += static_cast<std::size_t>(size);
      } else {
        SUBMIX_RETURN_IF_ERROR(TakeOperator(open));
      }
    }
  }

  Status TakeOperator(std::string& open) {
    constexpr std::array<std::string_view, 25> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    const auto found = std::ranges::find_if(kOperators, [this](auto each) { return Sees(each); });
    if (found == kOperators.end()) {
      return Error("unexpected character " + base::Quoted(rest().substr(0, 1)));
    }
    const char c = found->front();
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) return Error("unexpected " + base::Quoted(*found));
      open.pop_back();
    }
    Add(TokenKind::kOperator, *found);
    at_ += found->size();
    return base::OkStatus();
  }

  // Decimal, with underscores, a fraction and an exponent.
  void TakeNumber() {
    std::string text;
    const auto digits = [&] {
      while (at_ < source_.size() &&
             (IsDecimal(source_[at_]) ||
              (source_[at_] == '_' && at_ + 1 < source_.size() && IsDecimal(source_[at_ + 1])))) {
        if (source_[at_] != '_') text += source_[at_];
        ++at_;
      }
    };
    const auto digit_at = [&](std::size_t i) {
      return i < source_.size() && IsDecimal(source_[i]);
    };
    digits();
    TokenKind kind = TokenKind::kInteger;
    if (Sees(".") && digit_at(at_ + 1)) {
      kind = TokenKind::kFloat;
      text += '.';
      ++at_;
      digits();
    }
    if (Sees("e") || Sees("E")) {
      const std::size_t sign = at_ + 1 < source_.size() && SignAt(at_ + 1) != ' ' ? 1 : 0;
      if (digit_at(at_ + 1 + sign)) {
        kind = TokenKind::kFloat;
        text += source_.substr(at_, 1 + sign);
        at_ += 1 + sign;
        digits();
      }
    }
    Add(kind, text);
  }

  Status TakeString(char quote) {
    const int line = line_;
    std::string text;
    for (Advance(1); at_ < source_.size() && source_[at_] != quote;) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        SUBMIX_RETURN_IF_ERROR(TakeEscape(text));
      } else {
        text += source_[at_];
        Advance(1);
      }
    }
    if (at_ == source_.size()) return Error("a string has no end");
    ++at_;
    tokens_.push_back({TokenKind::kString, std::move(text), line});
    return base::OkStatus();
  }

  // As Python's; one that it does not know stands for itself.
  Status TakeEscape(std::string& text) {
    const char c = source_[at_ + 1];
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kMeant = "\\'\"\a\b\f\n\r\t\v";
    if (const auto at = kNames.find(c); at != std::string_view::npos) {
      text += kMeant[at];
      Advance(2);
      return base::OkStatus();
    }
    const std::size_t hex_digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (hex_digits > 0) {
      const std::string_view digits = rest().substr(2, hex_digits);
      return TakeCodePoint(digits.size() == hex_digits ? HexValue(digits) : -1, 2 + hex_digits,
                           text);
    }
    if (c >= '0' && c <= '7') {
      int value = 0;
      std::size_t size = 1;
      for (; size < 4 && at_ + size < source_.size(); ++size) {
        const char digit = source_[at_ + size];
        if (digit < '0' || digit > '7') break;
        value = value * 8 + digit - '0';
      }
      return TakeCodePoint(value, size, text);
    }
    if (c == 'N') return Error("strings with \\N{…} are not supported");
    if (c != '\n') text += '\\';
    Advance(c == '\n' ? 2 : 1);
    return base::OkStatus();
  }
  Status TakeCodePoint(std::int64_t value, std::size_t size, std::string& text) {
    if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) {
      return Error("an escape in a string is not a character");
    }
    text += EncodeCodePoint(static_cast<std::int32_t>(value));
    Advance(size);
    return base::OkStatus();
  }

  const std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // what follows the last tag begins a line
  std::vector<Token> tokens_;
};

}  // namespace

StatusOr<std::vector<Token>> Tokenize(std::string_view source) { return Lexer(source).Run(); }

}  // namespace submix::jinja

// Text that knows of each of its bytes whose it is: the template's, or a message's. Whatever is
// done to text is done to both, so nothing that a message says is ever taken for what the template
// says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace submix::jinja {

// The order is that of trust: what is made of the template's and a message's is the message's. An
// answer is a message of the assistant's; what is made of both kinds of message is of no answer.
enum class Origin : char { kTemplate, kAnswer, kMessage };

// Bytes, UTF-8 as a rule, and as many origins.
class Text {
 public:
  Text() = default;
  Text(std::string_view bytes, Origin origin)
      : bytes_(bytes), origins_(bytes.size(), static_cast<char>(origin)) {}

  const std::string& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  Origin origin(std::size_t byte) const { return static_cast<Origin>(origins_[byte]); }
  bool HoldsMessage() const { return Whole() != Origin::kTemplate; }
  // Of what is made of all of it: the least trusted of its bytes'.
  Origin Whole() const;

  void Append(const Text& other) {
    bytes_ += other.bytes_;
    origins_ += other.origins_;
  }
  void Append(std::string_view bytes, Origin origin) {
    bytes_ += bytes;
    origins_.append(bytes.size(), static_cast<char>(origin));
  }
  // Positions in bytes, at the beginning of characters.
  Text Part(std::size_t begin, std::size_t end) const;
  Text From(std::size_t begin) const { return Part(begin, size()); }

 private:
  std::string bytes_;
  std::string origins_;
};

// --- Characters, as Python counts and classifies them

struct CodePoint {
  std::int32_t value = 0;  // of a byte that is not part of well-formed UTF-8: -1
  std::size_t size = 0;    // in bytes
};
// The one that begins at `position`. Requires: position < text.size().
CodePoint CodePointAt(std::string_view text, std::size_t position);
// Where each character begins, and the size of the text.
std::vector<std::size_t> CharacterStarts(std::string_view text);
std::size_t CountCharacters(std::string_view text);
std::string EncodeCodePoint(std::int32_t value);
bool IsWellFormed(std::string_view text);

// The first place at or behind `from`, in time linear in both whatever they say; npos if there is
// none.
std::size_t FindBytes(std::string_view text, std::string_view wanted, std::size_t from);

bool IsSpace(std::int32_t code_point);   // str.isspace
bool IsDigit(std::int32_t code_point);   // str.isdigit, of decimal digits
bool IsLetter(std::int32_t code_point);  // str.isalpha
bool IsUpper(std::int32_t code_point);
bool IsLower(std::int32_t code_point);
bool IsPrintable(std::int32_t code_point);  // what repr() writes as it is

// The case of each character as Unicode maps it alone, and "ß" as Python does; each byte that comes
// of a character has the character's origin.
enum class Case { kUpper, kLower, kTitle };
// The character at `position` in that case, onto `out`.
void AppendInCase(const Text& text, std::size_t position, Case wanted, Text& out);
Text InCase(const Text& text, Case wanted);

}  // namespace submix::jinja

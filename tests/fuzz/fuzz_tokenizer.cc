#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

// A vocabulary of every byte and what the merges make: a mutation hardly ever keeps all 256 bytes.
std::string VocabularyOf(std::string_view merges) {
  static const std::string bytes = [] {
    std::string json = R"({"<|endoftext|>":0)";
    for (int byte = 0; byte < 256; ++byte) {
      const std::string spelling = tokenizer::SpellBytes(std::string(1, static_cast<char>(byte)));
      json += "," + base::JsonText(spelling) + ":" + std::to_string(byte + 1);
    }
    return json;
  }();
  std::set<std::string> merged;
  while (!merges.empty()) {
    const std::string_view line = merges.substr(0, merges.find('\n'));
    merges.remove_prefix(std::min(merges.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) continue;
    merged.insert(std::string(line.substr(0, space)) + std::string(line.substr(space + 1)));
  }
  std::string json = bytes;
  int id = 257;
  for (const std::string& spelling : merged) {
    json += "," + base::JsonText(spelling) + ":" + std::to_string(id++);
  }
  return json + "}";
}

void CheckNoMarker(const tokenizer::Tokenizer& tokenizer, const std::vector<base::TokenId>& tokens,
                   const std::string& content) {
  const auto marker = tokenizer.special_token(content);
  SUBMIX_CHECK(!marker || std::ranges::find(tokens, *marker) == tokens.end(),
               "no text forges a marker");
}

// Whether the file may say that more than spaces change on a text's way; escapes may hide it.
bool MayChangeText(std::string_view file) {
  constexpr std::string_view kChanging[] = {"NFC",     "Prepend",   "Replace",
                                            "Removed", "Metaspace", "\\u"};
  return std::ranges::any_of(kChanging, [file](std::string_view word) {
    return file.find(word) != std::string_view::npos;
  });
}

// Stretches of a text that are a template's and a person's in turn.
std::vector<bool> FlagsOf(std::string_view text) {
  constexpr std::size_t kStretch = 17;
  std::vector<bool> flags(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) flags[i] = i / kStretch % 2 == 0;
  return flags;
}

// Requires: the tokenizer changes no text.
void CheckTemplated(const tokenizer::Tokenizer& tokenizer, const std::string& text,
                    const std::vector<std::string>& contents) {
  const std::vector<bool> flags = FlagsOf(text);
  const auto tokens = tokenizer.EncodeTemplated(text, flags, tokenizer.MarkersIn(text));
  if (!tokens.ok()) return;  // a pattern that goes back too often on it
  for (const std::string& content : contents) {
    const auto marker = tokenizer.special_token(content);
    if (!marker) continue;
    std::ptrdiff_t written = 0;
    for (std::size_t at = text.find(content); at != text.npos; at = text.find(content, at + 1)) {
      const auto begin = flags.begin() + static_cast<std::ptrdiff_t>(at);
      written += std::all_of(begin, begin + std::ssize(content), std::identity());
    }
    SUBMIX_CHECK(std::ranges::count(*tokens, *marker) <= written, "markers are the template's");
  }
}

// Puts the files of `pieces` that are not empty, and only those.
void PutFiles(const FuzzedDirectory& directory, const std::vector<std::string_view>& pieces) {
  const std::pair<std::size_t, const char*> files[] = {{2, "tokenizer_config.json"},
                                                       {3, "added_tokens.json"}};
  for (const auto& [number, name] : files) {
    if (pieces[number].empty()) {
      SUBMIX_CHECK(base::RemoveAll(directory.File(name)).ok(), "the directory is ours");
    } else {
      directory.Put(name, pieces[number]);
    }
  }
}

// tokenizer.json ==== a text ==== tokenizer_config.json ==== added_tokens.json
void FuzzTokenizerJson(std::string_view input) {
  static const FuzzedDirectory directory;
  const std::vector<std::string_view> pieces = Pieces(input, 4);
  directory.Put("tokenizer.json", pieces[0]);
  PutFiles(directory, pieces);
  const auto tokenizer = tokenizer::Tokenizer::Load(directory.path());
  if (!tokenizer.ok()) return;
  std::string text(pieces[1]);
  const auto file = base::JsonObject::Parse(pieces[0], "tokenizer.json");
  SUBMIX_CHECK(file.ok(), "what was read is an object");
  std::vector<std::string> contents;
  if (file->Has("added_tokens")) {
    const auto added = file->Objects("added_tokens");
    for (const base::JsonObject& token : *added) contents.push_back(*token.Text("content"));
  }
  std::erase(contents, "");
  for (const std::string& content : contents) text += content;
  const auto tokens = (*tokenizer)->Encode(text);
  if (!tokens.ok()) return;  // a pattern that goes back too often on it
  for (const std::string& content : contents) CheckNoMarker(**tokenizer, *tokens, content);
  std::string decoded = (*tokenizer)->Decode(*tokens);
  constexpr std::size_t kUnlimited = std::size_t{1} << 32;  // white space may be taken off
  if (MayChangeText(pieces[0]) || (*tokenizer)->longest_token_bytes() == kUnlimited) return;
  CheckTemplated(**tokenizer, text, contents);
  if (decoded.find("\ufffd") != decoded.npos) return;  // bytes may have no entry
  std::erase(decoded, ' ');
  std::erase(text, ' ');
  SUBMIX_CHECK(decoded == text, "every text comes back");
}

}  // namespace

// An empty vocabulary stands for one that fits the merges. An input that begins with "{" and names
// a model is a tokenizer.json.
void FuzzTokenizer(std::string_view input) {
  if (input.starts_with("{") && input.find("\"model\"") != std::string_view::npos) {
    FuzzTokenizerJson(input);
    return;
  }
  static const FuzzedDirectory directory;
  const std::vector<std::string_view> pieces = Pieces(input, 3);
  directory.Put("vocab.json", pieces[0].empty() ? VocabularyOf(pieces[1]) : std::string(pieces[0]));
  directory.Put("merges.txt", pieces[1]);
  const auto tokenizer = tokenizer::Tokenizer::Load(directory.path());
  if (!tokenizer.ok()) return;
  const std::string_view text = pieces[2];
  const std::vector<base::TokenId> tokens = (*tokenizer)->Encode(text).value();
  for (const base::TokenId token : tokens) {
    SUBMIX_CHECK(token != (*tokenizer)->end_of_text(), "no text forges a boundary");
  }
  const std::string decoded = (*tokenizer)->Decode(tokens);
  if (decoded.find("\ufffd") != decoded.npos) return;  // bytes may have no entry
  SUBMIX_CHECK(decoded == text, "every text comes back");
}

}  // namespace submix::fuzz

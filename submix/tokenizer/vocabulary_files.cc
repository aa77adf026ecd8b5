// ReadVocabularyFiles of byte_pair_tokenizer.h.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"
#include "submix/tokenizer/pre_tokenizer.h"

namespace submix::tokenizer {
namespace {

using base::Status;
using base::StatusOr;
using base::TokenId;

constexpr std::string_view kEndOfText = "<|endoftext|>";

// A vocabulary as vocab.json spells it.
using Vocabulary = std::unordered_map<std::string, TokenId>;

StatusOr<Vocabulary> LoadVocabulary(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const base::JsonObject json, base::JsonObject::Load(path));
  const std::vector<std::string> spellings = json.fields();
  Vocabulary vocabulary;
  std::vector<bool> is_taken(spellings.size());
  for (const std::string& spelling : spellings) {
    const auto id = json.Integer(spelling, 0, std::ssize(spellings) - 1);
    if (!id.ok() || is_taken[static_cast<std::size_t>(*id)]) {
      return json.FieldError(
          spelling, "expected ids 0 .. " + std::to_string(spellings.size() - 1) + ", each once");
    }
    is_taken[static_cast<std::size_t>(*id)] = true;
    vocabulary.emplace(spelling, static_cast<TokenId>(*id));
  }
  return vocabulary;
}

// What each token stands for, index = id. The end of text stands for no bytes.
StatusOr<std::vector<std::string>> BytesOfTokens(const std::string& path,
                                                 const Vocabulary& vocabulary) {
  std::vector<std::string> bytes_of_token(vocabulary.size());
  for (const auto& [spelling, id] : vocabulary) {
    if (spelling == kEndOfText) continue;
    std::optional<std::string> bytes = BytesOfSpelling(spelling);
    if (!bytes || bytes->empty()) {
      return base::InvalidArgumentError(
          path + ": entry \"" + spelling +
          "\": expected one or more characters of GPT-2's byte alphabet");
    }
    bytes_of_token[static_cast<std::size_t>(id)] = *std::move(bytes);
  }
  return bytes_of_token;
}

StatusOr<std::array<TokenId, 256>> TokensOfBytes(const std::string& path,
                                                 const Vocabulary& vocabulary) {
  std::array<TokenId, 256> token_of_byte{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string spelling = SpellBytes(std::string(1, static_cast<char>(byte)));
    const auto entry = vocabulary.find(spelling);
    if (entry == vocabulary.end()) {
      return base::InvalidArgumentError(path + ": no token \"" + spelling + "\" for byte " +
                                        std::to_string(byte));
    }
    token_of_byte[byte] = entry->second;
  }
  return token_of_byte;
}

// The ids of left, right and merged that a line of merges.txt, "left right", says.
StatusOr<std::array<TokenId, 3>> ParseMerge(std::string_view line, const Vocabulary& vocabulary) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
    return base::InvalidArgumentError("expected two tokens with one space between them");
  }
  const std::string left(line.substr(0, space));
  const std::string right(line.substr(space + 1));
  if (left + right == kEndOfText || left == kEndOfText || right == kEndOfText) {
    return base::InvalidArgumentError("\"" + std::string(kEndOfText) + "\" must not come of text");
  }
  std::array<TokenId, 3> ids{};
  const std::array<std::string, 3> spellings = {left, right, left + right};
  for (std::size_t i = 0; i < spellings.size(); ++i) {
    const auto entry = vocabulary.find(spellings[i]);
    if (entry == vocabulary.end()) {
      return base::InvalidArgumentError("\"" + spellings[i] + "\" is not in vocab.json");
    }
    ids[i] = entry->second;
  }
  return ids;
}

StatusOr<BytePairMerges> ParseMerges(const std::string& path, const std::string& content,
                                     const Vocabulary& vocabulary) {
  BytePairMerges merges(1 + static_cast<std::size_t>(std::ranges::count(content, '\n')));
  std::istringstream lines(content);
  std::int32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const std::string place = path + ":" + std::to_string(number) + ": ";
    const auto ids = ParseMerge(line, vocabulary);
    if (!ids.ok()) return base::InvalidArgumentError(place + ids.status().message());
    const auto& [left, right, merged] = *ids;
    if (!merges.Add(left, right, {number, merged})) {
      return base::InvalidArgumentError(place + "this merge stands in an earlier line already");
    }
  }
  return merges;
}

}  // namespace

StatusOr<BytePairParts> ReadVocabularyFiles(const std::string& directory) {
  const std::string vocabulary_path = base::JoinPath(directory, "vocab.json");
  const std::string merges_path = base::JoinPath(directory, "merges.txt");
  SUBMIX_ASSIGN_OR_RETURN(const Vocabulary vocabulary, LoadVocabulary(vocabulary_path));
  SUBMIX_ASSIGN_OR_RETURN(const std::string merges_text, base::ReadFile(merges_path));

  const auto end_of_text = vocabulary.find(std::string(kEndOfText));
  if (end_of_text == vocabulary.end()) {
    return base::InvalidArgumentError(vocabulary_path + ": no token \"" + std::string(kEndOfText) +
                                      "\"");
  }
  BytePairParts parts;
  parts.end_of_text = end_of_text->second;
  AddedToken token;
  token.content = kEndOfText;
  token.id = parts.end_of_text;
  token.is_special = true;
  parts.literals = AddedTokens({token});
  parts.added_tokens.emplace(kEndOfText, std::move(token));
  SUBMIX_ASSIGN_OR_RETURN(parts.bytes_of_token, BytesOfTokens(vocabulary_path, vocabulary));
  for (const std::string& bytes : parts.bytes_of_token) {
    parts.longest_piece_bytes = std::max(parts.longest_piece_bytes, bytes.size());
  }
  SUBMIX_ASSIGN_OR_RETURN(parts.token_of_byte, TokensOfBytes(vocabulary_path, vocabulary));
  SUBMIX_ASSIGN_OR_RETURN(parts.merges, ParseMerges(merges_path, merges_text, vocabulary));
  parts.pre_tokenizer = Gpt2PreTokenizer();
  return parts;
}

}  // namespace submix::tokenizer

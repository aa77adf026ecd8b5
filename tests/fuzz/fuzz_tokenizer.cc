#include <algorithm>
#include <set>
#include <string>

#include "submix/base/check.h"
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

}  // namespace

// An empty vocabulary stands for one that fits the merges.
void FuzzTokenizer(std::string_view input) {
  static const FuzzedDirectory directory;
  const std::vector<std::string_view> pieces = Pieces(input, 3);
  directory.Put("vocab.json", pieces[0].empty() ? VocabularyOf(pieces[1]) : std::string(pieces[0]));
  directory.Put("merges.txt", pieces[1]);
  const auto tokenizer = tokenizer::Tokenizer::Load(directory.path());
  if (!tokenizer.ok()) return;
  const std::string_view text = pieces[2];
  const std::vector<base::TokenId> tokens = (*tokenizer)->Encode(text);
  for (const base::TokenId token : tokens) {
    SUBMIX_CHECK(token != (*tokenizer)->end_of_text(), "no text forges a boundary");
  }
  SUBMIX_CHECK((*tokenizer)->Decode(tokens) == text, "every text comes back");
}

}  // namespace submix::fuzz

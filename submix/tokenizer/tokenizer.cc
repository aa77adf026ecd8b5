#include "submix/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"

namespace submix::tokenizer {
namespace {

bool HasTokenizerJson(const std::string& directory) {
  return base::FileExists(base::JoinPath(directory, "tokenizer.json"));
}

}  // namespace

base::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(BytePairParts parts, HasTokenizerJson(directory)
                                                   ? ReadTokenizerJson(directory)
                                                   : ReadVocabularyFiles(directory));
  return std::unique_ptr<Tokenizer>(std::make_unique<BytePairTokenizer>(std::move(parts)));
}

base::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::LoadFor(const std::string& directory,
                                                              int model_vocab_size) {
  SUBMIX_ASSIGN_OR_RETURN(auto tokenizer, Load(directory));
  base::TokenId largest = std::max(tokenizer->largest_text_token(), tokenizer->end_of_text());
  for (const base::TokenId id : tokenizer->prefix()) largest = std::max(largest, id);
  if (largest < model_vocab_size) return tokenizer;
  const char* file = HasTokenizerJson(directory) ? "tokenizer.json" : "vocab.json";
  return base::FailedPreconditionError(
      base::JoinPath(directory, file) + ": text can become the token id " +
      std::to_string(largest) + ", but config.json's \"vocab_size\" is " +
      std::to_string(model_vocab_size) + ": the tokenizer does not belong to this model");
}

std::vector<base::TokenId> Tokenizer::EncodePrompt(std::string_view bytes) const {
  std::vector<base::TokenId> tokens = prefix();
  const std::vector<base::TokenId> text = Encode(bytes);
  tokens.insert(tokens.end(), text.begin(), text.end());
  return tokens;
}

std::vector<base::TokenId> Tokenizer::document_start() const {
  std::vector<base::TokenId> start = prefix();
  if (start.empty()) start.push_back(end_of_text());
  return start;
}

base::StatusOr<std::vector<std::string>> Tokenizer::FileNames(const std::string& directory) {
  std::vector<std::string> names = {"tokenizer.json"};
  if (!HasTokenizerJson(directory)) names = {"vocab.json", "merges.txt"};
  for (const std::string& name : names) {
    const std::string path = base::JoinPath(directory, name);
    if (base::FileExists(path)) continue;
    return base::NotFoundError(path +
                               ": missing; a tokenizer is a tokenizer.json, or vocab.json "
                               "and merges.txt");
  }
  for (const char* name :
       {"tokenizer_config.json", "chat_template.jinja", "generation_config.json"}) {
    if (base::FileExists(base::JoinPath(directory, name))) names.emplace_back(name);
  }
  return names;
}

}  // namespace submix::tokenizer

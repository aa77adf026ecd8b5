#include "submix/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"

namespace submix::tokenizer {
namespace {

constexpr char kTokenizerJson[] = "tokenizer.json";

bool HasTokenizerJson(const std::string& directory) {
  return base::FileExists(base::JoinPath(directory, kTokenizerJson));
}

// What to do about a directory without a tokenizer that can be read.
std::string Mend(const std::string& directory) {
  for (const char* other : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
                            "tiktoken.model", "tekken.json", "qwen.tiktoken", "vocab.txt"}) {
    if (!base::FileExists(base::JoinPath(directory, other))) continue;
    return std::string(other) +
           " alone is not read; let transformers write a tokenizer.json: "
           "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)";
  }
  return "a tokenizer is a tokenizer.json, or vocab.json and merges.txt; fetch it with the model";
}

}  // namespace

base::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Load(const std::string& directory) {
  SUBMIX_RETURN_IF_ERROR(FileNames(directory).status());
  SUBMIX_ASSIGN_OR_RETURN(const TokenizerFile file,
                          HasTokenizerJson(directory)
                              ? ReadTokenizerFile(base::JoinPath(directory, kTokenizerJson))
                              : ReadVocabularyFiles(directory));
  SUBMIX_ASSIGN_OR_RETURN(BytePairParts parts, ReadParts(file, directory));
  return std::unique_ptr<Tokenizer>(std::make_unique<BytePairTokenizer>(std::move(parts)));
}

base::StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::LoadFor(const std::string& directory,
                                                              int model_vocab_size) {
  SUBMIX_ASSIGN_OR_RETURN(auto tokenizer, Load(directory));
  base::TokenId largest = std::max(tokenizer->largest_text_token(), tokenizer->end_of_text());
  for (const base::TokenId id : tokenizer->prefix()) largest = std::max(largest, id);
  if (largest < model_vocab_size) return tokenizer;
  const char* file = HasTokenizerJson(directory) ? kTokenizerJson : "vocab.json";
  return base::FailedPreconditionError(
      base::JoinPath(directory, file) + ": text can become the token id " +
      std::to_string(largest) + ", but config.json's \"vocab_size\" is " +
      std::to_string(model_vocab_size) + ": the tokenizer does not belong to this model");
}

base::StatusOr<std::vector<base::TokenId>> Tokenizer::EncodePrompt(std::string_view bytes) const {
  std::vector<base::TokenId> tokens = prefix();
  SUBMIX_ASSIGN_OR_RETURN(const std::vector<base::TokenId> text, Encode(bytes));
  tokens.insert(tokens.end(), text.begin(), text.end());
  return tokens;
}

std::vector<base::TokenId> Tokenizer::document_start() const {
  std::vector<base::TokenId> start = prefix();
  if (start.empty()) start.push_back(end_of_text());
  return start;
}

base::StatusOr<std::vector<std::string>> Tokenizer::FileNames(const std::string& directory) {
  std::vector<std::string> names = {kTokenizerJson};
  if (!HasTokenizerJson(directory)) {
    const bool has_parts = base::FileExists(base::JoinPath(directory, "vocab.json")) ||
                           base::FileExists(base::JoinPath(directory, "merges.txt"));
    if (has_parts) names = {"vocab.json", "merges.txt"};
  }
  for (const std::string& name : names) {
    const std::string path = base::JoinPath(directory, name);
    if (!base::FileExists(path)) return base::NotFoundError(path + ": missing; " + Mend(directory));
  }
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                           "chat_template.jinja", "chat_template.json", "generation_config.json"}) {
    if (base::FileExists(base::JoinPath(directory, name))) names.emplace_back(name);
  }
  return names;
}

}  // namespace submix::tokenizer

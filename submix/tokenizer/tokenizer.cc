#include "submix/tokenizer/tokenizer.h"

#include <utility>

#include "submix/base/file_system.h"
#include "submix/tokenizer/byte_pair_tokenizer.h"
#include "submix/tokenizer/tokenizer_json.h"
#include "submix/tokenizer/vocabulary_files.h"

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

base::StatusOr<std::vector<std::string>> Tokenizer::FileNames(const std::string& directory) {
  std::vector<std::string> names;
  if (HasTokenizerJson(directory)) {
    names = {"tokenizer.json"};
    const char config[] = "tokenizer_config.json";
    if (base::FileExists(base::JoinPath(directory, config))) names.emplace_back(config);
    return names;
  }
  for (const char* name : {"vocab.json", "merges.txt"}) {
    const std::string path = base::JoinPath(directory, name);
    if (!base::FileExists(path)) {
      return base::NotFoundError(path +
                                 ": missing; a tokenizer is a tokenizer.json, or vocab.json "
                                 "and merges.txt");
    }
    names.emplace_back(name);
  }
  return names;
}

}  // namespace submix::tokenizer

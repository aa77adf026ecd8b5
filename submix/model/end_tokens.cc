#include "submix/model/end_tokens.h"

#include "submix/base/file_system.h"
#include "submix/model/config_fields.h"
#include "submix/model/decoder_families.h"

namespace submix::model {

using base::JsonObject;
using base::StatusOr;

StatusOr<std::vector<int>> ReadTokenIds(const JsonObject& json, std::string_view field,
                                        int vocab_size) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<int> ids, json.IntOrInts(field, 0, vocab_size - 1));
  if (ids.empty()) return json.FieldError(field, "expected at least one");
  return ids;
}

StatusOr<std::vector<int>> LoadGenerationEnds(const std::string& directory, int vocab_size) {
  const std::string path = base::JoinPath(directory, kGenerationConfigFile);
  if (!base::FileExists(path)) return std::vector<int>();
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject generation, JsonObject::Load(path));
  if (!generation.Has(kEndTokensField)) return std::vector<int>();
  return ReadTokenIds(generation, kEndTokensField, vocab_size);
}

StatusOr<std::vector<int>> LoadEndTokens(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject config,
                          LoadConfigFields(base::JoinPath(directory, "config.json")));
  SUBMIX_ASSIGN_OR_RETURN(const int vocab_size, config.Int("vocab_size", 1, kMaxVocabulary));
  SUBMIX_ASSIGN_OR_RETURN(std::vector<int> ends, LoadGenerationEnds(directory, vocab_size));
  if (!ends.empty() || !config.Has(kEndTokensField)) return ends;
  return ReadTokenIds(config, kEndTokensField, vocab_size);
}

}  // namespace submix::model

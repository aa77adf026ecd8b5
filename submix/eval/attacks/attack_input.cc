#include "submix/eval/attacks/attack_input.h"

#include <functional>

#include "submix/base/json_object.h"
#include "submix/corpus/text_lines.h"
#include "submix/eval/measuring/token_law.h"

namespace submix::eval {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

// Calls `sink` for every object; blank lines are skipped.
Status ReadObjects(const std::string& path, const std::function<Status(const JsonObject&)>& sink) {
  bool is_empty = true;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        if (text.empty()) return base::OkStatus();
        is_empty = false;
        SUBMIX_ASSIGN_OR_RETURN(const JsonObject object,
                                JsonObject::Parse(text, path + ":" + std::to_string(line)));
        return sink(object);
      }));
  if (is_empty) return base::InvalidArgumentError(path + ": expected at least one line");
  return base::OkStatus();
}

StatusOr<std::string> Words(const JsonObject& object, const char* field) {
  SUBMIX_ASSIGN_OR_RETURN(std::string text, object.Text(field));
  if (text.empty()) return object.FieldError(field, "expected a text");
  return text;
}

StatusOr<std::vector<base::TokenId>> TokenIds(const JsonObject& object, const char* field,
                                              int vocab_size) {
  SUBMIX_ASSIGN_OR_RETURN(const auto ids, object.Integers(field, 0, vocab_size - 1));
  if (ids.empty()) return object.FieldError(field, "expected at least one token");
  return std::vector<base::TokenId>(ids.begin(), ids.end());
}

StatusOr<TargetedExample> ParseExample(const JsonObject& object,
                                       const tokenizer::Tokenizer& tokenizer) {
  TargetedExample example;
  if (object.IsList("prefix")) {
    SUBMIX_ASSIGN_OR_RETURN(example.prefix, TokenIds(object, "prefix", tokenizer.vocab_size()));
    SUBMIX_ASSIGN_OR_RETURN(example.suffix, TokenIds(object, "suffix", tokenizer.vocab_size()));
    return example;
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string prefix, Words(object, "prefix"));
  SUBMIX_ASSIGN_OR_RETURN(const std::string suffix, Words(object, "suffix"));
  const StatusOr<JudgedTokens> judged = Judged(tokenizer, prefix, suffix);
  if (!judged.ok()) return object.FieldError("suffix", judged.status().message());
  const auto cut = judged->tokens.begin() + static_cast<std::ptrdiff_t>(judged->first);
  example.prefix.assign(judged->tokens.begin(), cut);
  example.suffix.assign(cut, judged->tokens.end());
  return example;
}

}  // namespace

StatusOr<std::vector<PlantedCode>> ReadPlantedCodes(const std::string& path) {
  std::vector<PlantedCode> codes;
  SUBMIX_RETURN_IF_ERROR(ReadObjects(path, [&](const JsonObject& object) -> Status {
    PlantedCode& code = codes.emplace_back();
    SUBMIX_ASSIGN_OR_RETURN(code.prompt, Words(object, "prompt"));
    SUBMIX_ASSIGN_OR_RETURN(code.secret, Words(object, "secret"));
    return base::OkStatus();
  }));
  return codes;
}

StatusOr<std::vector<TargetedExample>> ReadTargetedExamples(const std::string& path,
                                                            const tokenizer::Tokenizer& tokenizer) {
  std::vector<TargetedExample> examples;
  SUBMIX_RETURN_IF_ERROR(ReadObjects(path, [&](const JsonObject& object) -> Status {
    SUBMIX_ASSIGN_OR_RETURN(examples.emplace_back(), ParseExample(object, tokenizer));
    return base::OkStatus();
  }));
  return examples;
}

}  // namespace submix::eval

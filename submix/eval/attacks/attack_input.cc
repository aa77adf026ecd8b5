#include "submix/eval/attacks/attack_input.h"

#include <cstdint>
#include <functional>
#include <utility>

#include <nlohmann/json.hpp>

#include "submix/corpus/user_records.h"
#include "submix/eval/measuring/likelihood.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;
using nlohmann::json;

Status Refuse(const std::string& path, std::int64_t line, const std::string& why) {
  return base::InvalidArgumentError(path + ":" + std::to_string(line) + ": " + why);
}

// Calls `sink` for every object; blank lines are skipped. A sink's message gets file and line.
Status ReadObjects(const std::string& path, const std::function<Status(const json&)>& sink) {
  bool is_empty = true;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        if (text.empty()) return base::OkStatus();
        is_empty = false;
        const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
        if (!object.is_object()) return Refuse(path, line, "expected a JSON object");
        const Status status = sink(object);
        return status.ok() ? status : Refuse(path, line, status.message());
      }));
  if (is_empty) return base::InvalidArgumentError(path + ": expected at least one line");
  return base::OkStatus();
}

StatusOr<std::string> Text(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_string() ||
      found->get_ref<const std::string&>().empty()) {
    return base::InvalidArgumentError("expected a text in \"" + std::string(field) + "\"");
  }
  return found->get<std::string>();
}

StatusOr<std::vector<base::TokenId>> TokenIds(const json& array, const char* field,
                                              int vocab_size) {
  std::vector<base::TokenId> tokens;
  for (const json& value : array) {
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0 ||
        value.get<std::int64_t>() >= vocab_size) {
      return base::InvalidArgumentError("expected token ids from 0 to " +
                                        std::to_string(vocab_size - 1) + " in \"" +
                                        std::string(field) + "\"");
    }
    tokens.push_back(value.get<base::TokenId>());
  }
  if (tokens.empty()) {
    return base::InvalidArgumentError("expected at least one token in \"" + std::string(field) +
                                      "\"");
  }
  return tokens;
}

StatusOr<TargetedExample> ParseExample(const json& object, const tokenizer::Tokenizer& tokenizer) {
  if (!object.contains("prefix") || !object.contains("suffix")) {
    return base::InvalidArgumentError("expected \"prefix\" and \"suffix\"");
  }
  const json& prefix = object["prefix"];
  const json& suffix = object["suffix"];
  TargetedExample example;
  if (prefix.is_array() && suffix.is_array()) {
    SUBMIX_ASSIGN_OR_RETURN(example.prefix, TokenIds(prefix, "prefix", tokenizer.vocab_size()));
    SUBMIX_ASSIGN_OR_RETURN(example.suffix, TokenIds(suffix, "suffix", tokenizer.vocab_size()));
    return example;
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string prefix_text, Text(object, "prefix"));
  SUBMIX_ASSIGN_OR_RETURN(const std::string suffix_text, Text(object, "suffix"));
  SUBMIX_ASSIGN_OR_RETURN(const JudgedTokens judged, Judged(tokenizer, prefix_text, suffix_text));
  const auto cut = judged.tokens.begin() + static_cast<std::ptrdiff_t>(judged.first);
  example.prefix.assign(judged.tokens.begin(), cut);
  example.suffix.assign(cut, judged.tokens.end());
  return example;
}

}  // namespace

StatusOr<std::vector<PlantedCode>> ReadPlantedCodes(const std::string& path) {
  std::vector<PlantedCode> codes;
  const auto add = [&](const json& object) -> Status {
    PlantedCode code;
    SUBMIX_ASSIGN_OR_RETURN(code.prompt, Text(object, "prompt"));
    SUBMIX_ASSIGN_OR_RETURN(code.secret, Text(object, "secret"));
    codes.push_back(std::move(code));
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(ReadObjects(path, add));
  return codes;
}

StatusOr<std::vector<TargetedExample>> ReadTargetedExamples(const std::string& path,
                                                            const tokenizer::Tokenizer& tokenizer) {
  std::vector<TargetedExample> examples;
  const auto add = [&](const json& object) -> Status {
    SUBMIX_ASSIGN_OR_RETURN(TargetedExample example, ParseExample(object, tokenizer));
    examples.push_back(std::move(example));
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(ReadObjects(path, add));
  return examples;
}

}  // namespace submix::eval

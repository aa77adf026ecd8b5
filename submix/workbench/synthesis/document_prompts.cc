#include "submix/workbench/synthesis/document_prompts.h"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/corpus/text_lines.h"
#include "submix/tokenizer/characters.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

StatusOr<std::string> ReadPrompt(const std::string& path, std::int64_t line,
                                 std::string_view text) {
  const std::string where = path + ":" + std::to_string(line);
  if (path.ends_with(".jsonl")) {
    SUBMIX_ASSIGN_OR_RETURN(const auto object, base::JsonObject::Parse(text, where));
    return object.Text("prompt");
  }
  if (tokenizer::FindIllFormed(text, 0) == text.size()) return std::string(text);
  return base::InvalidArgumentError(where + ": not UTF-8: convert the file to UTF-8");
}

struct LabelCount {
  std::string label;
  int documents = 0;
};

StatusOr<LabelCount> ParseLabel(const std::string& text) {
  constexpr int kMostDocuments = 10'000'000;
  LabelCount label;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon > 0) {
    label.label = text.substr(0, colon);
    const char* const end = text.data() + text.size();
    const auto [parsed_to, error] = std::from_chars(text.data() + colon + 1, end, label.documents);
    if (error != std::errc() || parsed_to != end) label.documents = 0;
  }
  if (label.documents >= 1 && label.documents <= kMostDocuments) return label;
  return base::InvalidArgumentError(
      "--labels: expected a label and how many documents, such as "
      "good:120, found " +
      base::Quoted(text));
}

// A template with `text` in every place. What the text itself holds is no place.
std::string Filled(std::string text_template, std::string_view place, const std::string& text) {
  for (std::size_t at = 0; (at = text_template.find(place, at)) != std::string::npos;) {
    text_template.replace(at, place.size(), text);
    at += text.size();
  }
  return text_template;
}

}  // namespace

StatusOr<std::vector<DocumentPrompt>> PromptsFromFile(const std::string& path) {
  std::vector<DocumentPrompt> prompts;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) return base::OkStatus();
        SUBMIX_ASSIGN_OR_RETURN(std::string prompt, ReadPrompt(path, line, text));
        prompts.push_back({std::move(prompt), ""});
        return base::OkStatus();
      }));
  if (prompts.empty()) return base::InvalidArgumentError(path + ": no prompt: give one a line");
  return prompts;
}

StatusOr<std::vector<DocumentPrompt>> PromptsFromLabels(const std::string& text_template,
                                                        const std::vector<std::string>& labels) {
  constexpr std::string_view kPlace = "{label}";
  if (text_template.find(kPlace) == std::string::npos || labels.empty()) {
    return base::InvalidArgumentError(
        "--template: needs --labels, and {label} in its text where they go");
  }
  std::vector<LabelCount> counts;
  for (const std::string& text : labels) {
    SUBMIX_ASSIGN_OR_RETURN(auto count, ParseLabel(text));
    counts.push_back(std::move(count));
  }
  std::vector<DocumentPrompt> prompts;
  while (!counts.empty()) {
    for (LabelCount& count : counts) {
      prompts.push_back({Filled(text_template, kPlace, count.label), count.label});
      --count.documents;
    }
    std::erase_if(counts, [](const LabelCount& count) { return count.documents == 0; });
  }
  return prompts;
}

}  // namespace submix::workbench

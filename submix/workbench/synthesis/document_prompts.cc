#include "submix/workbench/synthesis/document_prompts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/corpus/label_choice.h"
#include "submix/corpus/text_lines.h"
#include "submix/tokenizer/characters.h"

namespace submix::workbench {
namespace {

using base::Status;
using base::StatusOr;

StatusOr<DocumentPrompt> PromptOf(const base::JsonObject& object) {
  DocumentPrompt prompt;
  SUBMIX_ASSIGN_OR_RETURN(prompt.text, object.Text("prompt"));
  return prompt;
}

// Calls `sink` for every prompt, with its place for messages.
Status ReadPrompts(
    const std::string& path,
    const std::function<StatusOr<DocumentPrompt>(const base::JsonObject& object)>& of_object,
    std::vector<DocumentPrompt>& prompts) {
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadLines(path, [&](std::int64_t line, std::string_view text) -> Status {
        if (text.find_first_not_of(" \t\r") == std::string_view::npos) return base::OkStatus();
        const std::string where = path + ":" + std::to_string(line);
        if (path.ends_with(".jsonl")) {
          SUBMIX_ASSIGN_OR_RETURN(const auto object, base::JsonObject::Parse(text, where));
          SUBMIX_ASSIGN_OR_RETURN(prompts.emplace_back(), of_object(object));
          return base::OkStatus();
        }
        if (tokenizer::FindIllFormed(text, 0) != text.size()) {
          return base::InvalidArgumentError(where + ": not UTF-8: convert the file to UTF-8");
        }
        prompts.push_back({std::string(text), ""});
        return base::OkStatus();
      }));
  if (prompts.empty()) return base::InvalidArgumentError(path + ": no prompt: give one a line");
  return base::OkStatus();
}

// A text, and the label that it should get if that is known.
StatusOr<DocumentPrompt> ItemOf(const base::JsonObject& object,
                                const std::vector<std::string>& labels) {
  DocumentPrompt item;
  SUBMIX_ASSIGN_OR_RETURN(item.text, object.Text(object.Has("prompt") ? "prompt" : "text"));
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("completion", item.label));
  item.label = corpus::Trimmed(item.label);
  if (item.label.empty() || std::ranges::count(labels, item.label) > 0) return item;
  return object.FieldError("completion", "is none of --labels");
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
  SUBMIX_RETURN_IF_ERROR(ReadPrompts(path, PromptOf, prompts));
  return prompts;
}

StatusOr<std::vector<DocumentPrompt>> ItemsFromFile(const std::string& path,
                                                    const std::string& text_template,
                                                    const std::vector<std::string>& labels) {
  constexpr std::string_view kPlace = "{text}";
  if (!text_template.empty() && text_template.find(kPlace) == std::string::npos) {
    return base::InvalidArgumentError("--prompt: needs {text} in it, where each text goes");
  }
  std::vector<DocumentPrompt> items;
  SUBMIX_RETURN_IF_ERROR(ReadPrompts(
      path, [&](const base::JsonObject& object) { return ItemOf(object, labels); }, items));
  if (text_template.empty()) return items;
  for (DocumentPrompt& item : items) item.text = Filled(text_template, kPlace, item.text);
  return items;
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

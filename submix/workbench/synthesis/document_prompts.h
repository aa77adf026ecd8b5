// What synthetic documents are to be about: public prompts, of a file or of labels in a template.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"

namespace submix::workbench {

// Public, and for one document each.
struct DocumentPrompt {
  std::string text = {};
  std::string label = {};  // that `text` was made of; empty: none
};

// Of a file: one a line, blank lines skipped; in a .jsonl file {"prompt": "…"}. Errors: those of
// corpus::ReadLines and JsonObject; kInvalidArgument for a file without any, or not in UTF-8.
base::StatusOr<std::vector<DocumentPrompt>> PromptsFromFile(const std::string& path);

// Of a template that holds "{label}", and labels with how many documents each is for, "good:120".
// They take turns, so that a beginning of the list is as balanced as the whole. Errors:
// kInvalidArgument for any other template or label.
base::StatusOr<std::vector<DocumentPrompt>> PromptsFromLabels(
    const std::string& text_template, const std::vector<std::string>& labels);

}  // namespace submix::workbench

// What synthetic documents are to be about, or what is to be labelled: public prompts, of a file or
// of labels in a template.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"

namespace submix::workbench {

// Public, and for one document each.
struct DocumentPrompt {
  std::string text = {};
  std::string label = {};  // that `text` was made of, or that it should get; empty: none
};

// Of a file: one a line, blank lines skipped; in a .jsonl file {"prompt": "…"}. Errors: those of
// corpus::ReadLines and JsonObject; kInvalidArgument for a file without any, or not in UTF-8.
base::StatusOr<std::vector<DocumentPrompt>> PromptsFromFile(const std::string& path);

// What is to be labelled: as PromptsFromFile, but in a .jsonl file "text" may stand in the place of
// "prompt", and beside it a "completion", the label that it should get. Each is put into the
// template, at "{text}"; an empty template is the text alone. Errors: those of PromptsFromFile;
// kInvalidArgument for a template without a place, or a completion that is none of the labels.
base::StatusOr<std::vector<DocumentPrompt>> ItemsFromFile(const std::string& path,
                                                          const std::string& text_template,
                                                          const std::vector<std::string>& labels);

// Of a template that holds "{label}", and labels with how many documents each is for, "good:120".
// They take turns, so that a beginning of the list is as balanced as the whole. Errors:
// kInvalidArgument for any other template or label.
base::StatusOr<std::vector<DocumentPrompt>> PromptsFromLabels(
    const std::string& text_template, const std::vector<std::string>& labels);

}  // namespace submix::workbench

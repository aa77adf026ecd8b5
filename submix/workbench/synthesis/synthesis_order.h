// What is to be written, from where, and where to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "submix/engine/request.h"
#include "submix/shape/shape.h"
#include "submix/workbench/synthesis/document_prompts.h"

namespace submix::workbench {

struct SynthesisOrder {
  std::vector<std::string> deployments;  // directories; at least one
  std::string out;                       // the file of documents (document_file.h)
  std::vector<DocumentPrompt> prompts;  // at least one; document i has prompt i modulo their number
  std::int64_t documents = 0;           // in the whole file
  int at_a_time = 1;
  engine::Request request = {};  // of each document, but for its prompt and its shape
  std::optional<shape::ShapeRequest> shape = {};
  // What documents are (document_kind.h): texts; or, if not empty, one of these labels each; or, if
  // not 0, conversations of so many messages. Neither has a shape.
  std::vector<std::string> labels = {};
  int messages = 0;
};

}  // namespace submix::workbench

// What the public model writes by itself, as documents: the control of whoever measures what
// documents of a private model are worth. Their words are public; how many there are follows from
// the texts that they stand beside.
#pragma once

#include <cstdint>
#include <string>

#include "submix/base/status.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::workbench {

struct PublicTextRequest {
  std::string public_directory;
  std::string directory;         // where the file is kept; exists
  std::int64_t tokens = 0;       // of all documents together, at least
  std::int64_t most_tokens = 0;  // of one document; at least 1, at most what the model holds
  int threads = 0;               // 0: all processors
};

// The path of {"id": …, "text": …} lines, written unless they are there from an earlier call of the
// same request; the draws are always the same. Shows a progress bar. Errors: those of reading the
// model and of writing; kFailedPrecondition for a model that writes no text.
base::StatusOr<std::string> WritePublicText(const PublicTextRequest& request,
                                            const tokenizer::Tokenizer& tokenizer);

}  // namespace submix::workbench

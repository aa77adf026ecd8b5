#include "submix/train/models/document_tokens.h"

#include "submix/corpus/user_records.h"

namespace submix::train {
namespace {

// Says "enough" to ReadLines; never reaches the caller.
base::Status Enough() { return base::UnavailableError("enough tokens"); }

}  // namespace

base::StatusOr<std::vector<base::TokenId>> ReadDocumentTokens(std::span<const std::string> paths,
                                                              const tokenizer::Tokenizer& tokenizer,
                                                              std::int64_t max_tokens) {
  std::vector<base::TokenId> tokens;
  std::string document;
  const auto is_full = [&] { return max_tokens > 0 && std::ssize(tokens) >= max_tokens; };
  const auto end_document = [&] {
    if (document.empty()) return;
    const std::vector<base::TokenId> encoded = tokenizer.Encode(document);
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    tokens.push_back(tokenizer.end_of_text());
    document.clear();
  };
  for (const std::string& path : paths) {
    const base::Status status =
        corpus::ReadLines(path, [&](std::int64_t, std::string_view line) -> base::Status {
          if (line != kEndOfTextLine) {
            document.append(line).push_back('\n');
            return base::OkStatus();
          }
          end_document();
          return is_full() ? Enough() : base::OkStatus();
        });
    if (!status.ok() && !is_full()) return status;
    end_document();
    if (is_full()) break;
  }
  if (is_full()) tokens.resize(static_cast<std::size_t>(max_tokens));
  return tokens;
}

}  // namespace submix::train

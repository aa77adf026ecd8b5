#include "submix/workbench/training/public_text.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/progress_bar.h"
#include "submix/eval/measuring/repeatable_draws.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/model/end_tokens.h"
#include "submix/train/recipes/member_recipe.h"
#include "submix/workbench/models/open_models.h"

namespace submix::workbench {
namespace {

using base::StatusOr;

// What stands before a text wherever this model reads one.
std::vector<base::TokenId> Beginning(const tokenizer::Tokenizer& tokenizer) {
  std::vector<base::TokenId> prefix = tokenizer.prefix();
  if (prefix.empty()) prefix.push_back(tokenizer.end_of_text());
  return prefix;
}

// The tokens before the first that ends an answer.
std::vector<base::TokenId> UntilEnd(std::vector<base::TokenId> tokens,
                                    const std::vector<base::TokenId>& ends) {
  tokens.erase(std::ranges::find_first_of(tokens, ends), tokens.end());
  return tokens;
}

StatusOr<std::string> DrawnDocuments(const PublicTextRequest& request,
                                     const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<base::TokenId> ends,
                          model::LoadEndTokens(request.public_directory));
  ends.push_back(tokenizer.end_of_text());
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadPredictor({.threads = request.threads}, request.public_directory, {},
                                        tokenizer.vocab_size()));
  const auto law = eval::MakeRowLaw(0);
  const auto random = eval::RepeatableDraws(/*seed=*/0, "the public model's own text");
  base::ProgressBar progress("Writing the control", request.tokens, "tokens");
  std::string lines;
  std::int64_t documents = 0;
  for (std::int64_t tokens = 0; tokens < request.tokens;) {
    SUBMIX_ASSIGN_OR_RETURN(const auto completions,
                            eval::Complete(*predictor, *law, Beginning(tokenizer),
                                           {.tokens = static_cast<std::size_t>(request.most_tokens),
                                            .count = eval::kSequencesAtATime},
                                           *random));
    const std::int64_t before = tokens;
    for (const eval::Completion& completion : completions) {
      const std::string text = tokenizer.Decode(UntilEnd(completion.tokens, ends));
      if (text.empty()) continue;
      const nlohmann::ordered_json line = {{"id", std::to_string(documents++)}, {"text", text}};
      lines += line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
      // Of the text as it is read, which may cut it into other tokens.
      SUBMIX_ASSIGN_OR_RETURN(const auto read, tokenizer.Encode(text));
      tokens += std::ssize(read);
    }
    if (tokens == before) {
      return base::FailedPreconditionError(request.public_directory +
                                           ": the public model writes no text by itself; measure "
                                           "without a control");
    }
    progress.Advance(std::min(tokens, request.tokens) - before);
  }
  return lines;
}

}  // namespace

StatusOr<std::string> WritePublicText(const PublicTextRequest& request,
                                      const tokenizer::Tokenizer& tokenizer) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string model,
                          train::PublicModelSha256(request.public_directory));
  const std::string made_of =
      model + " " + std::to_string(request.tokens) + " " + std::to_string(request.most_tokens);
  const std::string name = "public_text-" + base::ToHex(base::Sha256(made_of)).substr(0, 16);
  std::string path = base::JoinPath(request.directory, name + ".jsonl");
  if (base::FileExists(path)) return path;
  SUBMIX_ASSIGN_OR_RETURN(const std::string lines, DrawnDocuments(request, tokenizer));
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path, lines));
  return path;
}

}  // namespace submix::workbench

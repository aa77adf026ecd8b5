#include "submix/eval/figures/block_users.h"

#include <cstdio>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/eval/measuring/heldout.h"

namespace submix::eval {

base::StatusOr<std::int64_t> WriteBlockUsers(const std::string& input, const std::string& output,
                                             const tokenizer::Tokenizer& tokenizer,
                                             int block_tokens) {
  SUBMIX_ASSIGN_OR_RETURN(const HeldoutBlocks blocks,
                          HeldoutFromFile(input, tokenizer, block_tokens - 1));
  std::string lines;
  std::int64_t users = 0;
  for (std::vector<base::TokenId> block : blocks) {
    std::erase(block, tokenizer.end_of_text());
    if (block.empty()) continue;
    char name[32];
    std::snprintf(name, sizeof name, "block%08lld", static_cast<long long>(++users));
    const nlohmann::json record = {{"user", name}, {"text", tokenizer.Decode(block)}};
    // A cut inside a character of several bytes leaves bytes that are no text.
    lines += record.dump(-1, ' ', false, nlohmann::json::error_handler_t::ignore) + "\n";
  }
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(output, lines, 0600));
  return users;
}

}  // namespace submix::eval

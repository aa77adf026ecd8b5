#include "submix/corpus/user_tokens.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "submix/base/check.h"

namespace submix::corpus {
namespace {

using TokensByUser = std::map<std::string, std::vector<base::TokenId>>;

base::StatusOr<TokensByUser> TokenizeUsers(const CorpusFile& file,
                                           const tokenizer::Tokenizer& tokenizer,
                                           std::int64_t tokens_per_user) {
  constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  const std::size_t most = tokens_per_user == 0 ? kAll : static_cast<std::size_t>(tokens_per_user);
  TokensByUser users;
  std::set<std::string, std::less<>> with_text;
  SUBMIX_RETURN_IF_ERROR(ReadUserRecords(file, [&](const UserRecord& record) -> base::Status {
    std::vector<base::TokenId>& stream = users[record.user];
    if (stream.size() >= most) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(const bool has_text, AppendText(tokenizer, record.text, stream));
    if (has_text) with_text.insert(record.user);
    return base::OkStatus();
  }));
  for (auto& [user, tokens] : users) {
    if (!with_text.contains(user)) tokens.clear();
    if (!tokens.empty() && tokens.size() < most) tokens.push_back(tokenizer.end_of_text());
    tokens.resize(std::min(tokens.size(), most));
  }
  return users;
}

}  // namespace

base::StatusOr<bool> AppendText(const tokenizer::Tokenizer& tokenizer, std::string_view text,
                                std::vector<base::TokenId>& stream) {
  const std::size_t prefix = tokenizer.prefix().size();
  if (prefix == 0 || !stream.empty()) stream.push_back(tokenizer.end_of_text());
  SUBMIX_ASSIGN_OR_RETURN(const auto tokens, tokenizer.EncodePrompt(text));
  stream.insert(stream.end(), tokens.begin(), tokens.end());
  return tokens.size() > prefix;
}

std::vector<UserTokens> CutIntoTexts(const std::vector<UserTokens>& users,
                                     const tokenizer::Tokenizer& tokenizer) {
  const std::ptrdiff_t shared = tokenizer.prefix().empty() ? 1 : 0;
  std::vector<UserTokens> texts;
  for (const UserTokens& user : users) {
    if (user.tokens.empty()) continue;
    auto begin = user.tokens.begin();
    for (auto at = begin + 1; at < user.tokens.end(); ++at) {
      if (*at != tokenizer.end_of_text()) continue;
      texts.push_back({user.user, {begin, at + 1}});
      begin = at + 1 - shared;
    }
  }
  return texts;
}

base::StatusOr<PartitionedCorpus> PartitionCorpus(const CorpusFile& file,
                                                  const tokenizer::Tokenizer& tokenizer,
                                                  const base::HashKey& key,
                                                  const PartitionOptions& options,
                                                  std::int64_t tokens_per_user) {
  SUBMIX_CHECK(options.num_parts >= 1 && options.halves >= 1 && tokens_per_user >= 0,
               "the options are out of range");
  SUBMIX_ASSIGN_OR_RETURN(TokensByUser users, TokenizeUsers(file, tokenizer, tokens_per_user));
  PartitionedCorpus corpus;
  corpus.members.resize(static_cast<std::size_t>(options.num_parts) *
                        static_cast<std::size_t>(options.halves));
  for (auto& [user, tokens] : users) {
    const Placement placement = PlaceUser(key, user, options);
    const int member = placement.part.index * options.halves + placement.half;
    std::vector<UserTokens>& group =
        placement.is_heldout ? corpus.heldout : corpus.members[static_cast<std::size_t>(member)];
    group.push_back(UserTokens{user, std::move(tokens)});
  }
  return corpus;
}

std::vector<std::vector<base::TokenId>> CutIntoBlocks(const std::vector<UserTokens>& users,
                                                      int block_tokens) {
  SUBMIX_CHECK(block_tokens >= 2, "a block holds at least one transition");
  std::vector<std::vector<base::TokenId>> blocks;
  const auto max_length = static_cast<std::size_t>(block_tokens);
  for (const UserTokens& user : users) {
    // A block starts at the last token of the one before; one that held no other token is not made.
    for (std::size_t start = 0; start + 1 < user.tokens.size(); start += max_length - 1) {
      const auto begin = user.tokens.begin() + static_cast<std::ptrdiff_t>(start);
      const std::size_t length = std::min(max_length, user.tokens.size() - start);
      blocks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
    }
  }
  return blocks;
}

}  // namespace submix::corpus

#include "submix/eval/measuring/heldout.h"

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "submix/corpus/text_lines.h"

namespace submix::eval {
namespace {

using base::StatusOr;
using corpus::UserTokens;

// The users of a user-keyed file, or one of them, in order of their names.
StatusOr<HeldoutText> ReadUsers(const corpus::CorpusFile& file,
                                const std::optional<std::string>& only_user,
                                const tokenizer::Tokenizer& tokenizer, int context_length) {
  std::map<std::string, std::vector<base::TokenId>> streams;
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
    if (record.text.empty() || (only_user && *only_user != record.user)) return base::OkStatus();
    return corpus::AppendText(tokenizer, record.text, streams[record.user]).status();
  }));
  std::vector<UserTokens> users;
  for (auto& [user, stream] : streams) {
    stream.push_back(tokenizer.end_of_text());
    users.push_back({user, std::move(stream)});
  }
  return HeldoutFromUsers(users, context_length);
}

// Every document of a text file as a user of its own.
StatusOr<HeldoutText> ReadDocuments(const std::string& path, const tokenizer::Tokenizer& tokenizer,
                                    int context_length) {
  std::vector<UserTokens> documents;
  const auto append = [&](std::string_view document) {
    std::vector<base::TokenId>& stream = documents.emplace_back().tokens;
    const auto has_text = corpus::AppendText(tokenizer, document, stream);
    stream.push_back(tokenizer.end_of_text());
    return has_text.status();
  };
  SUBMIX_RETURN_IF_ERROR(corpus::ReadDocuments(path, append));
  HeldoutText text = HeldoutFromUsers(documents, context_length);
  for (std::size_t i = 0; i < text.users.size(); ++i) text.users[i] = std::to_string(i + 1);
  return text;
}

}  // namespace

HeldoutText HeldoutFromUsers(const std::vector<UserTokens>& users, int context_length) {
  HeldoutText text;
  for (const UserTokens& user : users) {
    for (auto& block : corpus::CutIntoBlocks({user}, context_length + 1)) {
      text.blocks.push_back(std::move(block));
      text.users.push_back(user.user);
    }
  }
  return text;
}

StatusOr<HeldoutText> HeldoutFromFile(const corpus::CorpusFile& file,
                                      const tokenizer::Tokenizer& tokenizer, int context_length) {
  return corpus::IsUserKeyed(file.path)
             ? ReadUsers(file, /*only_user=*/std::nullopt, tokenizer, context_length)
             : ReadDocuments(file.path, tokenizer, context_length);
}

StatusOr<HeldoutBlocks> HeldoutOfUser(const std::string& path, const std::string& user,
                                      const tokenizer::Tokenizer& tokenizer, int context_length) {
  SUBMIX_ASSIGN_OR_RETURN(HeldoutText text, ReadUsers(path, user, tokenizer, context_length));
  if (text.blocks.empty()) return base::NotFoundError(path + ": no text of that user");
  return std::move(text.blocks);
}

std::int64_t CountScoredTokens(const HeldoutBlocks& blocks) {
  std::int64_t tokens = 0;
  for (const auto& block : blocks) tokens += static_cast<std::int64_t>(block.size()) - 1;
  return tokens;
}

}  // namespace submix::eval

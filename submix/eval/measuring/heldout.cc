#include "submix/eval/measuring/heldout.h"

#include <cstdio>
#include <map>
#include <string_view>
#include <utility>

#include "submix/corpus/text_lines.h"

namespace submix::eval {
namespace {

using base::Status;
using base::StatusOr;
using corpus::UserTokens;

// Texts in the stream format of UserTokens, which lack their last end of text.
using Documents = std::map<std::string, UserTokens>;

void AddText(const tokenizer::Tokenizer& tokenizer, const std::string& user, std::string_view text,
             Documents& documents) {
  if (text.empty()) return;
  UserTokens& tokens = documents[user];
  tokens.user = user;
  corpus::AppendText(tokenizer, text, tokens.tokens);
}

HeldoutText TextOf(Documents documents, const tokenizer::Tokenizer& tokenizer, int context_length) {
  std::vector<UserTokens> users;
  for (auto& [user, tokens] : documents) {
    tokens.tokens.push_back(tokenizer.end_of_text());
    users.push_back(std::move(tokens));
  }
  return HeldoutFromUsers(users, context_length);
}

// Every document of a text file becomes a user of its own, numbered so that the order stays.
Status ReadDocuments(const std::string& path, const tokenizer::Tokenizer& tokenizer,
                     Documents& documents) {
  std::int64_t number = 0;
  return corpus::ReadDocuments(path, [&](std::string_view document) {
    char name[24];
    std::snprintf(name, sizeof name, "%012lld", static_cast<long long>(number++));
    AddText(tokenizer, name, document, documents);
    return base::OkStatus();
  });
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
  Documents documents;
  if (corpus::IsUserKeyed(file.path)) {
    SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) {
      AddText(tokenizer, record.user, record.text, documents);
      return base::OkStatus();
    }));
    return TextOf(std::move(documents), tokenizer, context_length);
  }
  SUBMIX_RETURN_IF_ERROR(ReadDocuments(file.path, tokenizer, documents));
  HeldoutText text = TextOf(std::move(documents), tokenizer, context_length);
  for (std::size_t i = 0; i < text.users.size(); ++i) text.users[i] = std::to_string(i + 1);
  return text;
}

StatusOr<HeldoutBlocks> HeldoutOfUser(const std::string& path, const std::string& user,
                                      const tokenizer::Tokenizer& tokenizer, int context_length) {
  Documents documents;
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(path, [&](const corpus::UserRecord& record) {
    if (record.user == user) AddText(tokenizer, record.user, record.text, documents);
    return base::OkStatus();
  }));
  HeldoutBlocks blocks = TextOf(std::move(documents), tokenizer, context_length).blocks;
  if (blocks.empty()) return base::NotFoundError(path + ": no text of that user");
  return blocks;
}

std::int64_t CountQueries(const HeldoutBlocks& blocks) {
  std::int64_t queries = 0;
  for (const auto& block : blocks) queries += static_cast<std::int64_t>(block.size()) - 1;
  return queries;
}

}  // namespace submix::eval

#include "submix/eval/measuring/heldout.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "submix/corpus/label_choice.h"
#include "submix/corpus/text_lines.h"

namespace submix::eval {
namespace {

using base::StatusOr;
using corpus::UserTokens;

constexpr auto kAllTokens = std::numeric_limits<std::size_t>::max();

// The users of a user-keyed file, or one of them, in order of their names.
StatusOr<HeldoutText> ReadUsers(const corpus::CorpusFile& file,
                                const std::optional<std::string>& only_user,
                                const corpus::RecordEncoder& encoder, int context_length) {
  std::map<std::string, corpus::RecordStream> streams;
  const auto append = [&](const corpus::UserRecord& record) -> base::Status {
    if (record.Written().empty() || (only_user && *only_user != record.user)) {
      return base::OkStatus();
    }
    SUBMIX_ASSIGN_OR_RETURN(corpus::EncodedRecord encoded, encoder.Encode(record));
    streams[record.user].Append(std::move(encoded));
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(corpus::ReadUserRecords(file, append));
  std::vector<UserTokens> users;
  for (auto& [user, stream] : streams) users.push_back(stream.Take(user, kAllTokens));
  return HeldoutFromUsers(users, context_length);
}

// Every document of a text file as a user of its own.
StatusOr<HeldoutText> ReadDocuments(const std::string& path, const corpus::RecordEncoder& encoder,
                                    int context_length) {
  std::vector<UserTokens> documents;
  const auto append = [&](std::string_view document) -> base::Status {
    corpus::UserRecord record;
    record.text = document;
    SUBMIX_ASSIGN_OR_RETURN(corpus::EncodedRecord encoded, encoder.Encode(record));
    corpus::RecordStream stream;
    stream.Append(std::move(encoded));
    documents.push_back(stream.Take("", kAllTokens));
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(corpus::ReadDocuments(path, append));
  HeldoutText text = HeldoutFromUsers(documents, context_length);
  for (std::size_t i = 0; i < text.users.size(); ++i) text.users[i] = std::to_string(i + 1);
  return text;
}

struct LabelledBlock {
  std::vector<corpus::StreamToken> tokens;
  std::vector<base::TokenId> choices;
};

StatusOr<LabelledBlock> LabelledBlockOf(const corpus::UserRecord& record,
                                        const corpus::RecordEncoder& encoder,
                                        const std::vector<std::string>& labels) {
  if (!record.prompt_bytes) {
    return base::InvalidArgumentError(
        "no \"prompt\" with a \"completion\", which --labels asks for");
  }
  const std::string label = corpus::Trimmed(record.text.substr(*record.prompt_bytes));
  const auto known = std::ranges::find(labels, label);
  if (known == labels.end()) {
    return base::InvalidArgumentError("the completion is none of --labels");
  }
  SUBMIX_ASSIGN_OR_RETURN(
      corpus::LabelChoice choice,
      corpus::ChoiceOfLabels(encoder, record.text.substr(0, *record.prompt_bytes), labels));
  LabelledBlock block;
  for (const base::TokenId token : choice.prompt) {
    block.tokens.push_back(corpus::Uncounted(token));
  }
  block.tokens.push_back(choice.next[static_cast<std::size_t>(known - labels.begin())]);
  block.choices = std::move(choice.next);
  std::ranges::sort(block.choices);
  return block;
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
                                      const corpus::RecordEncoder& encoder, int context_length) {
  return corpus::IsUserKeyed(file.path)
             ? ReadUsers(file, /*only_user=*/std::nullopt, encoder, context_length)
             : ReadDocuments(file.path, encoder, context_length);
}

StatusOr<HeldoutText> LabelsFromFile(const corpus::CorpusFile& file,
                                     const corpus::RecordEncoder& encoder,
                                     const std::vector<std::string>& labels, int context_length) {
  SUBMIX_RETURN_IF_ERROR(corpus::CheckLabels(labels, encoder.tokenizer()));
  std::map<std::string, std::vector<LabelledBlock>> users;
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) -> base::Status {
        SUBMIX_ASSIGN_OR_RETURN(auto block, LabelledBlockOf(record, encoder, labels));
        if (std::ssize(block.tokens) > context_length + 1) {
          return base::InvalidArgumentError(
              "the prompt has " + std::to_string(block.tokens.size() - 1) + " tokens, and " +
              std::to_string(context_length) + " fit the context");
        }
        users[record.user].push_back(std::move(block));
        return base::OkStatus();
      }));
  HeldoutText text;
  for (auto& [user, blocks] : users) {
    for (LabelledBlock& block : blocks) {
      text.blocks.push_back(std::move(block.tokens));
      text.choices.push_back(std::move(block.choices));
      text.users.push_back(user);
    }
  }
  return text;
}

StatusOr<HeldoutBlocks> HeldoutOfUser(const std::string& path, const std::string& user,
                                      const corpus::RecordEncoder& encoder, int context_length) {
  SUBMIX_ASSIGN_OR_RETURN(HeldoutText text, ReadUsers(path, user, encoder, context_length));
  if (text.blocks.empty()) return base::NotFoundError(path + ": no text of that user");
  return std::move(text.blocks);
}

std::int64_t CountScoredTokens(const HeldoutBlocks& blocks) {
  std::int64_t tokens = 0;
  for (const auto& block : blocks) tokens += corpus::NumCounted(block);
  return tokens;
}

std::int64_t CountPredictedTokens(const HeldoutBlocks& blocks) {
  std::int64_t tokens = 0;
  for (const auto& block : blocks) tokens += static_cast<std::int64_t>(block.size()) - 1;
  return tokens;
}

}  // namespace submix::eval

#include "submix/corpus/user_tokens.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "submix/base/check.h"

namespace submix::corpus {
namespace {

base::StatusOr<std::vector<UserTokens>> EncodeUsers(const CorpusFile& file,
                                                    const RecordEncoder& encoder,
                                                    std::int64_t tokens_per_user) {
  constexpr auto kAll = std::numeric_limits<std::size_t>::max();
  const std::size_t most = tokens_per_user == 0 ? kAll : static_cast<std::size_t>(tokens_per_user);
  std::map<std::string, RecordStream> streams;
  SUBMIX_RETURN_IF_ERROR(ReadUserRecords(file, [&](const UserRecord& record) -> base::Status {
    RecordStream& stream = streams[record.user];
    if (stream.size() >= most) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(EncodedRecord encoded, encoder.Encode(record));
    stream.Append(std::move(encoded));
    return base::OkStatus();
  }));
  std::vector<UserTokens> users;
  for (auto& [user, stream] : streams) {
    users.push_back(stream.has_text() ? stream.Take(user, most) : UserTokens{user, {}});
  }
  return users;
}

}  // namespace

void RecordStream::Close() {
  user_.tokens.push_back(end_);
  user_.records.back().end = user_.tokens.size();
}

void RecordStream::Append(EncodedRecord record) {
  if (is_open_) Close();
  if (!record.begins_by_itself && user_.tokens.empty()) user_.tokens.push_back(record.end);
  const std::size_t shared = record.begins_by_itself ? 0 : 1;
  user_.records.push_back({user_.tokens.size() - shared, 0});
  user_.tokens.insert(user_.tokens.end(), record.tokens.begin(), record.tokens.end());
  end_ = record.end;
  is_open_ = true;
  has_text_ = has_text_ || record.has_text;
}

UserTokens RecordStream::Take(std::string user, std::size_t most_tokens) {
  user_.user = std::move(user);
  if (is_open_) Close();
  user_.tokens.resize(std::min(user_.tokens.size(), most_tokens));
  std::erase_if(user_.records,
                [&](const UserTokens::Place& record) { return record.end > user_.tokens.size(); });
  return std::move(user_);
}

std::vector<UserTokens> CutIntoTexts(const std::vector<UserTokens>& users) {
  std::vector<UserTokens> texts;
  for (const UserTokens& user : users) {
    for (const UserTokens::Place& record : user.records) {
      texts.push_back({user.user,
                       {user.tokens.begin() + static_cast<std::ptrdiff_t>(record.begin),
                        user.tokens.begin() + static_cast<std::ptrdiff_t>(record.end)}});
    }
  }
  return texts;
}

base::StatusOr<PartitionedCorpus> PartitionCorpus(const CorpusFile& file,
                                                  const RecordEncoder& encoder,
                                                  const base::HashKey& key,
                                                  const PartitionOptions& options,
                                                  std::int64_t tokens_per_user) {
  SUBMIX_CHECK(options.num_parts >= 1 && options.halves >= 1 && tokens_per_user >= 0,
               "the options are out of range");
  SUBMIX_ASSIGN_OR_RETURN(auto users, EncodeUsers(file, encoder, tokens_per_user));
  PartitionedCorpus corpus;
  corpus.members.resize(static_cast<std::size_t>(options.num_parts) *
                        static_cast<std::size_t>(options.halves));
  for (UserTokens& user : users) {
    const Placement placement = PlaceUser(key, user.user, options);
    const int member = placement.part.index * options.halves + placement.half;
    std::vector<UserTokens>& group =
        placement.is_heldout ? corpus.heldout : corpus.members[static_cast<std::size_t>(member)];
    group.push_back(std::move(user));
  }
  return corpus;
}

std::vector<std::vector<StreamToken>> CutIntoBlocks(const std::vector<UserTokens>& users,
                                                    int block_tokens) {
  SUBMIX_CHECK(block_tokens >= 2, "a block holds at least one transition");
  std::vector<std::vector<StreamToken>> blocks;
  const auto max_length = static_cast<std::size_t>(block_tokens);
  for (const UserTokens& user : users) {
    // A block starts at the last token of the one before; one that held no other token is not made.
    for (std::size_t start = 0; start + 1 < user.tokens.size(); start += max_length - 1) {
      const auto begin = user.tokens.begin() + static_cast<std::ptrdiff_t>(start);
      const std::size_t length = std::min(max_length, user.tokens.size() - start);
      const std::span<const StreamToken> block(begin, length);
      if (NumCounted(block) > 0) blocks.emplace_back(block.begin(), block.end());
    }
  }
  return blocks;
}

}  // namespace submix::corpus

#include "submix/train/federated/user_words.h"

#include <algorithm>
#include <map>

#include "submix/base/check.h"

namespace submix::train {

using corpus::StreamToken;

base::StatusOr<TokenStreams> ReadUserStreams(
    const corpus::CorpusFile& file, const UserWordsLimits& limits,
    const std::function<base::Status(const corpus::UserRecord& record,
                                     std::vector<StreamToken>& stream)>& append) {
  SUBMIX_CHECK(limits.least_tokens >= 1 && limits.most_tokens >= 0, "limits out of range");
  std::map<std::string, std::vector<StreamToken>> users;
  const auto is_full = [&](const std::vector<StreamToken>& stream) {
    return limits.most_tokens > 0 && std::ssize(stream) >= limits.most_tokens;
  };
  SUBMIX_RETURN_IF_ERROR(
      corpus::ReadUserRecords(file, [&](const corpus::UserRecord& record) -> base::Status {
        std::vector<StreamToken>& stream = users[record.user];
        if (is_full(stream)) return base::OkStatus();
        const base::Status appended = append(record, stream);
        if (is_full(stream)) {
          stream.resize(static_cast<std::size_t>(limits.most_tokens));
          stream.shrink_to_fit();
        }
        return appended;
      }));
  TokenStreams streams;
  for (auto& [user, stream] : users) {
    const bool counts = std::ranges::any_of(stream, corpus::IsCounted);
    if (counts && std::ssize(stream) >= limits.least_tokens) streams.push_back(std::move(stream));
  }
  return streams;
}

TokenStreams FirstWords(TokenStreams streams, std::int64_t most_tokens) {
  std::int64_t left = most_tokens;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    if (left <= 0) {
      streams.resize(i);
      break;
    }
    if (std::ssize(streams[i]) > left) streams[i].resize(static_cast<std::size_t>(left));
    left -= std::ssize(streams[i]);
  }
  return streams;
}

}  // namespace submix::train

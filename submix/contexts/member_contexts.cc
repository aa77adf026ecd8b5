#include "submix/contexts/member_contexts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "submix/base/check.h"

namespace submix::contexts {
namespace {

using base::TokenId;

std::vector<Tokens> InPieces(const std::vector<Tokens>& records, std::size_t most) {
  std::vector<Tokens> pieces;
  for (const Tokens& record : records) {
    for (std::size_t begin = 0; begin < record.size(); begin += most) {
      const auto piece = std::span(record).subspan(begin, std::min(most, record.size() - begin));
      pieces.emplace_back(piece.begin(), piece.end());
    }
  }
  return pieces;
}

}  // namespace

MemberContexts::MemberContexts(const ensemble::Contexts& contexts, RecordFrame frame,
                               std::vector<std::vector<Tokens>> records)
    : contexts_(contexts), frame_(std::move(frame)) {
  const auto around = static_cast<int>(frame_.size());
  SUBMIX_CHECK(contexts_.tokens > around, "a context that holds a token");
  for (const std::vector<Tokens>& own : records) {
    std::vector<Tokens> pieces = InPieces(own, static_cast<std::size_t>(contexts_.tokens - around));
    RecordSearch search(pieces);
    members_.push_back({std::move(pieces), std::move(search)});
  }
}

bool MemberContexts::is_empty(int member) const {
  return members_[static_cast<std::size_t>(member)].records.empty();
}

Tokens MemberContexts::Of(int member, std::span<const TokenId> query) const {
  const Member& own = members_[static_cast<std::size_t>(member)];
  if (own.records.empty()) return {};
  std::vector<int> order(own.records.size());
  std::iota(order.begin(), order.end(), 0);
  if (reads_query()) order = own.search.Ranked(query);

  const auto most = static_cast<std::size_t>(contexts_.tokens);
  const std::size_t around = frame_.before.size() + frame_.after.size();
  std::vector<Tokens> chosen;
  std::size_t used = frame_.first.size();
  for (const int record : order) {
    if (used + around >= most) break;
    const Tokens& tokens = own.records[static_cast<std::size_t>(record)];
    const std::size_t count = std::min(tokens.size(), most - used - around);
    chosen.emplace_back(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
    used += around + count;
  }

  Tokens context = frame_.first;
  context.reserve(most);
  for (auto record = chosen.rbegin(); record != chosen.rend(); ++record) {
    context.insert(context.end(), frame_.before.begin(), frame_.before.end());
    context.insert(context.end(), record->begin(), record->end());
    context.insert(context.end(), frame_.after.begin(), frame_.after.end());
  }
  return context;
}

}  // namespace submix::contexts

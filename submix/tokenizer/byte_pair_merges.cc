#include "submix/tokenizer/byte_pair_merges.h"

#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>

#include "submix/base/check.h"

namespace submix::tokenizer {
namespace {

// Up to this length a scan for the lowest rank beats a heap.
constexpr std::size_t kMaxShortWord = 48;
constexpr std::int32_t kNoMerge = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kFreeSlot = std::numeric_limits<std::uint64_t>::max();

// Token ids are not negative, so that no pair equals kFreeSlot.
std::uint64_t PairKey(base::TokenId left, base::TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BytePairMerges::BytePairMerges(std::size_t num_merges)
    : slots_(std::bit_ceil(2 * num_merges + 2), Slot{kFreeSlot, {}}) {}

// The slot that holds the pair, or the free one where it belongs.
std::size_t BytePairMerges::SlotOf(std::uint64_t pair) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = static_cast<std::size_t>((pair * 0x9e3779b97f4a7c15u) >> 32) & mask;
  while (slots_[slot].pair != pair && slots_[slot].pair != kFreeSlot) slot = (slot + 1) & mask;
  return slot;
}

bool BytePairMerges::Add(base::TokenId left, base::TokenId right, BytePairMerge merge) {
  const std::uint64_t pair = PairKey(left, right);
  Slot& slot = slots_[SlotOf(pair)];
  if (slot.pair == pair) return false;
  SUBMIX_CHECK(2 * (num_used_ + 1) <= slots_.size(), "more merges than there is room for");
  slot = Slot{pair, merge};
  ++num_used_;
  return true;
}

const BytePairMerge* BytePairMerges::Find(base::TokenId left, base::TokenId right) const {
  const std::uint64_t pair = PairKey(left, right);
  const Slot& slot = slots_[SlotOf(pair)];
  return slot.pair == pair ? &slot.merge : nullptr;
}

void BytePairMerges::Apply(std::span<const base::TokenId> word,
                           std::vector<base::TokenId>& tokens) const {
  if (word.size() <= kMaxShortWord) {
    ApplyToShort(word, tokens);
  } else {
    ApplyToLong(word, tokens);
  }
}

void BytePairMerges::ApplyToShort(std::span<const base::TokenId> word,
                                  std::vector<base::TokenId>& tokens) const {
  std::array<base::TokenId, kMaxShortWord> token;
  std::array<BytePairMerge, kMaxShortWord> with_next;  // of token[i] and token[i + 1]
  std::size_t size = word.size();
  const auto update = [&](std::size_t i) {
    const BytePairMerge* merge = i + 1 < size ? Find(token[i], token[i + 1]) : nullptr;
    with_next[i] = merge != nullptr ? *merge : BytePairMerge{kNoMerge, 0};
  };
  for (std::size_t i = 0; i < size; ++i) token[i] = word[i];
  for (std::size_t i = 0; i < size; ++i) update(i);
  while (size > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < size; ++i) {
      if (with_next[i].rank < with_next[best].rank) best = i;
    }
    if (with_next[best].rank == kNoMerge) break;
    token[best] = with_next[best].merged;
    --size;
    for (std::size_t i = best + 1; i < size; ++i) {
      token[i] = token[i + 1];
      with_next[i] = with_next[i + 1];
    }
    update(best);
    if (best > 0) update(best - 1);
  }
  tokens.insert(tokens.end(), token.begin(), token.begin() + static_cast<std::ptrdiff_t>(size));
}

// A doubly linked list of the tokens left and a heap of merges to come; an entry whose pair has
// changed meanwhile is recognised when it is popped.
void BytePairMerges::ApplyToLong(std::span<const base::TokenId> word,
                                 std::vector<base::TokenId>& tokens) const {
  constexpr base::TokenId kSwallowed = -1;  // merged into its left neighbour
  struct Node {
    base::TokenId token;
    std::size_t previous;
    std::size_t next;
  };
  using Entry = std::tuple<std::int32_t, std::size_t, base::TokenId>;  // rank, left node, merged
  const std::size_t end = word.size();
  std::vector<Node> nodes(end);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](std::size_t left) {
    const std::size_t right = nodes[left].next;
    if (right == end) return;
    const BytePairMerge* merge = Find(nodes[left].token, nodes[right].token);
    if (merge != nullptr) queue.emplace(merge->rank, left, merge->merged);
  };
  for (std::size_t i = 0; i < end; ++i) nodes[i] = Node{word[i], i == 0 ? end : i - 1, i + 1};
  for (std::size_t i = 0; i + 1 < end; ++i) push(i);
  while (!queue.empty()) {
    const auto [rank, left, merged] = queue.top();
    queue.pop();
    const std::size_t right = nodes[left].next;
    if (nodes[left].token == kSwallowed || right == end) continue;
    const BytePairMerge* merge = Find(nodes[left].token, nodes[right].token);
    if (merge == nullptr || merge->rank != rank) continue;
    nodes[left].token = merged;
    nodes[right].token = kSwallowed;
    nodes[left].next = nodes[right].next;
    if (nodes[left].next != end) nodes[nodes[left].next].previous = left;
    push(left);
    if (nodes[left].previous != end) push(nodes[left].previous);
  }
  for (std::size_t i = 0; i != end; i = nodes[i].next) tokens.push_back(nodes[i].token);
}

}  // namespace submix::tokenizer

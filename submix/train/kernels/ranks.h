// The processes ("ranks") that train together, on one machine or on several. Rank 0, the root, owns
// what there must be once: ledger, randomness, checkpoint, manifest, output. The others compute for
// it. Torch-free; who carries the bytes is known to one implementation alone
// (apps/process_ranks.h: MPI).
//
// All calls are collective: every rank makes the same ones in the same order, and waits in them for
// the others. A rank that fails ends all of them, so there is no error to return. The ranks run the
// same program on the same kind of processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "submix/base/ids.h"

namespace submix::train {

// One thread at a time.
class Ranks {
 public:
  virtual ~Ranks() = default;

  virtual int rank() const = 0;  // 0 … size() - 1
  virtual int size() const = 0;
  bool is_root() const { return rank() == 0; }

  // The root's numbers become the sum of all ranks' numbers, element by element, exactly; those of
  // the others are not looked at afterwards. Requires: as many on every rank; sums within int64.
  virtual void SumToRoot(std::span<std::int64_t> numbers) = 0;
  // Everybody's bytes become the root's. Requires: as many on every rank.
  virtual void Broadcast(std::span<std::byte> bytes) = 0;
  // Returns when every rank has come here.
  virtual void Barrier() = 0;
};

template <typename T>
void BroadcastValue(Ranks& ranks, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  ranks.Broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

// A vector or string, of whatever size the root's has.
template <typename Values>
void BroadcastVector(Ranks& ranks, Values& values) {
  static_assert(std::is_trivially_copyable_v<typename Values::value_type>);
  std::uint64_t size = values.size();
  BroadcastValue(ranks, size);
  values.resize(size);
  ranks.Broadcast(std::as_writable_bytes(std::span(values)));
}

// Sequences of tokens, as many and as long as the root's.
inline void BroadcastTokens(Ranks& ranks, std::vector<std::vector<base::TokenId>>& sequences) {
  std::uint64_t count = sequences.size();
  BroadcastValue(ranks, count);
  sequences.resize(count);
  std::vector<std::uint64_t> lengths;
  std::vector<base::TokenId> tokens;
  for (const std::vector<base::TokenId>& sequence : sequences) {
    lengths.push_back(sequence.size());
    tokens.insert(tokens.end(), sequence.begin(), sequence.end());
  }
  BroadcastVector(ranks, lengths);
  BroadcastVector(ranks, tokens);
  auto next = tokens.begin();
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(lengths[i]);
    sequences[i].assign(next, end);
    next = end;
  }
}

}  // namespace submix::train

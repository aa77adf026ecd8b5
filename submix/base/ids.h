// Identifiers that must not be mixed up: a count of words, of parts and of members are all "just an
// int" otherwise, which is how the reference scripts of this field went wrong.
#pragma once

#include <compare>
#include <cstdint>

namespace submix::base {

// Index into the vocabulary, 0 <= id < vocab_size.
using TokenId = std::int32_t;

// One of the k disjoint sets of users, 0 <= index < num_parts.
struct PartId {
  int index = 0;
  auto operator<=>(const PartId&) const = default;
};

// Names one draw of one token. The engine makes them unique; mixture and receipt carry the same
// one.
struct ReleaseId {
  std::uint64_t session = 0;  // random, one a process
  std::uint64_t number = 0;   // counts up within the session
  auto operator<=>(const ReleaseId&) const = default;
};

}  // namespace submix::base

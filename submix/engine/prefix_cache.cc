#include "submix/engine/prefix_cache.h"

#include <algorithm>
#include <iterator>

namespace submix::engine {
namespace {

using base::TokenId;

// How many tokens both begin with.
std::size_t CommonLength(std::span<const TokenId> a, std::span<const TokenId> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

PrefixCache::~PrefixCache() {
  for (auto& [key, prefixes] : keys_) {
    for (const Prefix& prefix : prefixes) predictor_.Close(prefix.sequence);
  }
}

int PrefixCache::Shareable(std::size_t tokens) const {
  const int granule = predictor_.prefix_granule();
  return static_cast<int>(tokens) / granule * granule;
}

void PrefixCache::Drop(Prefixes& prefixes, Prefixes::iterator prefix) {
  predictor_.Close(prefix->sequence);
  prefixes.erase(prefix);
}

void PrefixCache::Use(Prefixes& prefixes, Prefixes::iterator prefix, Time now) {
  prefix->used = now;
  prefixes.splice(prefixes.begin(), prefixes, prefix);
}

int PrefixCache::TokensOf(const Prefixes& prefixes) {
  int tokens = 0;
  for (const Prefix& prefix : prefixes) tokens += static_cast<int>(prefix.tokens.size());
  return tokens;
}

PrefixCache::Opened PrefixCache::Open(const std::string& key, std::span<const TokenId> prompt,
                                      Time now) {
  DropIdle(now);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return {predictor_.Open(), 0};
  Prefixes& prefixes = found->second;
  auto longest = prefixes.end();
  int shared = 0;
  for (auto prefix = prefixes.begin(); prefix != prefixes.end(); ++prefix) {
    // The last token is never shared: its logits are asked for.
    const int common = Shareable(CommonLength(prompt.first(prompt.size() - 1), prefix->tokens));
    if (common > shared) {
      longest = prefix;
      shared = common;
    }
  }
  if (longest == prefixes.end()) return {predictor_.Open(), 0};
  Use(prefixes, longest, now);
  return {predictor_.OpenPrefix(longest->sequence, shared), shared};
}

void PrefixCache::Keep(const std::string& key, std::span<const TokenId> prompt,
                       ensemble::SequenceId sequence, Time now) {
  if (key.empty() || keeps_nothing()) return;
  const int length = Shareable(std::min(prompt.size(), static_cast<std::size_t>(tokens_per_key_)));
  if (length == 0) return;
  const auto kept = prompt.first(static_cast<std::size_t>(length));
  Prefixes& prefixes = keys_[key];
  const auto holder = std::ranges::find_if(prefixes, [&](const Prefix& prefix) {
    return CommonLength(kept, prefix.tokens) == kept.size();
  });
  if (holder != prefixes.end()) return Use(prefixes, holder, now);
  for (auto prefix = prefixes.begin(); prefix != prefixes.end();) {
    const auto here = prefix++;
    if (CommonLength(kept, here->tokens) == here->tokens.size()) Drop(prefixes, here);
  }
  prefixes.push_front({{kept.begin(), kept.end()}, predictor_.OpenPrefix(sequence, length), now});
  while (TokensOf(prefixes) > tokens_per_key_) Drop(prefixes, std::prev(prefixes.end()));
}

void PrefixCache::DropIdle(Time now) {
  for (auto& [key, prefixes] : keys_) {
    while (!prefixes.empty() && now - prefixes.back().used > kLongestIdle) {
      Drop(prefixes, std::prev(prefixes.end()));
    }
  }
  std::erase_if(keys_, [](const auto& entry) { return entry.second.empty(); });
}

}  // namespace submix::engine

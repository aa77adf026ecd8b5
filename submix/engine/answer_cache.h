// Answers given again, free: tokens that were paid for are public to the key that got them, and
// repeating them is post-processing. Off unless a scheduler gets one. In memory only.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "submix/base/digest.h"
#include "submix/engine/request.h"

namespace submix::engine {

// All events of one finished answer, in order.
using CachedAnswer = std::shared_ptr<const std::vector<TokenEvent>>;

// Each key has a cache of its own, so that no key's hits say anything of another's traffic. The
// least recently used answers of a key make room for its new ones. Thread-safe.
class AnswerCache {
 public:
  // `bytes_per_key` bounds what one key's answers and prompts take; 0 keeps nothing.
  explicit AnswerCache(std::size_t bytes_per_key) : bytes_per_key_(bytes_per_key) {}

  // The answer to exactly this prompt with exactly these settings, given to this key by this
  // generation of the deployment (its fingerprint); null if there is none.
  CachedAnswer Find(const std::string& key, const base::Sha256Digest& generation,
                    const Request& request);
  // Keeps an answer if it fits; the newest answer counts.
  void Insert(const std::string& key, const base::Sha256Digest& generation, const Request& request,
              std::vector<TokenEvent> events);

 private:
  struct Entry {
    std::string question;
    CachedAnswer answer;
    std::size_t bytes = 0;
  };
  // Newest use first.
  struct KeyCache {
    std::list<Entry> entries;
    std::unordered_map<std::string_view, std::list<Entry>::iterator>
        by_question;  // views of entries
    std::size_t bytes = 0;
  };

  static void Erase(KeyCache& cache, std::list<Entry>::iterator entry);

  const std::size_t bytes_per_key_;
  std::mutex mutex_;
  std::map<std::string, KeyCache> keys_;  // guarded by mutex_
};

}  // namespace submix::engine

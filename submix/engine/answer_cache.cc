#include "submix/engine/answer_cache.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace submix::engine {
namespace {

// Roughly what list, map and pointers take besides the content.
constexpr std::size_t kEntryOverhead = 256;

template <typename T>
void Append(const T& value, std::string& bytes) {
  static_assert(std::is_arithmetic_v<T>);
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

// Everything that the answer's law depends on, without ambiguity: equal strings, equal questions.
std::string QuestionOf(const base::Sha256Digest& generation, const Request& request) {
  std::string bytes(generation.begin(), generation.end());
  Append(request.max_tokens, bytes);
  Append(request.sampling.temperature, bytes);
  Append(request.sampling.top_p, bytes);
  Append(request.sampling.top_k, bytes);
  Append(request.sampling.top_k_plus, bytes);
  Append(request.stop.size(), bytes);
  for (const std::string& stop : request.stop) {
    Append(stop.size(), bytes);
    bytes += stop;
  }
  Append(request.end_tokens.size(), bytes);
  for (const base::TokenId token : request.end_tokens) Append(token, bytes);
  const std::string shape = request.shape == nullptr ? "" : request.shape->name();
  Append(shape.size(), bytes);
  bytes += shape;
  Append(request.one_of.size(), bytes);
  for (const base::TokenId token : request.one_of) Append(token, bytes);
  for (const base::TokenId token : request.prompt) Append(token, bytes);
  return bytes;
}

std::size_t BytesOf(const std::vector<TokenEvent>& events) {
  std::size_t bytes = 0;
  for (const TokenEvent& event : events) bytes += sizeof(TokenEvent) + event.text.capacity();
  return bytes;
}

}  // namespace

CachedAnswer AnswerCache::Find(const std::string& key, const base::Sha256Digest& generation,
                               const Request& request) {
  const std::string question = QuestionOf(generation, request);
  const std::lock_guard guard(mutex_);
  KeyCache& cache = keys_[key];
  const auto found = cache.by_question.find(question);
  if (found == cache.by_question.end()) return nullptr;
  cache.entries.splice(cache.entries.begin(), cache.entries, found->second);
  return found->second->answer;
}

void AnswerCache::Insert(const std::string& key, const base::Sha256Digest& generation,
                         const Request& request, std::vector<TokenEvent> events) {
  Entry entry;
  entry.question = QuestionOf(generation, request);
  entry.bytes = kEntryOverhead + entry.question.size() + BytesOf(events);
  if (entry.bytes > bytes_per_key_) return;
  entry.answer = std::make_shared<const std::vector<TokenEvent>>(std::move(events));
  const std::lock_guard guard(mutex_);
  KeyCache& cache = keys_[key];
  if (const auto old = cache.by_question.find(entry.question); old != cache.by_question.end()) {
    Erase(cache, old->second);
  }
  while (cache.bytes + entry.bytes > bytes_per_key_) Erase(cache, std::prev(cache.entries.end()));
  cache.bytes += entry.bytes;
  cache.entries.push_front(std::move(entry));
  cache.by_question.emplace(cache.entries.front().question, cache.entries.begin());
}

void AnswerCache::Erase(KeyCache& cache, std::list<Entry>::iterator entry) {
  cache.bytes -= entry->bytes;
  cache.by_question.erase(entry->question);
  cache.entries.erase(entry);
}

}  // namespace submix::engine

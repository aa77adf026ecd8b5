#include "submix/eval/measuring/text_comparison.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <utility>

namespace submix::eval {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool IsLetter(char character) {
  const auto byte = static_cast<unsigned char>(character);
  return byte >= 0x80 || std::isalnum(byte) != 0;
}

// SplitMix64's finaliser over each word in turn.
std::uint64_t HashOf(std::span<const std::int32_t> words) {
  std::uint64_t hash = 0;
  for (const std::int32_t word : words) {
    hash += 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(word);
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    hash ^= hash >> 31;
  }
  return hash;
}

// Calls body(hash) for every place of the sample at which n words stand in a row.
template <typename Body>
void ForEachNgram(const TextSample& sample, int n, const Body& body) {
  const auto length = static_cast<std::size_t>(n);
  for (const auto& words : sample.documents) {
    for (std::size_t begin = 0; begin + length <= words.size(); ++begin) {
      body(HashOf(std::span(words).subspan(begin, length)));
    }
  }
}

using Counts = std::unordered_map<std::uint64_t, double>;

double Frequencies(const TextSample& sample, int n, Counts& counts) {
  double total = 0;
  ForEachNgram(sample, n, [&](std::uint64_t hash) {
    ++counts[hash];
    ++total;
  });
  for (auto& [hash, count] : counts) count /= total;
  return total;
}

// Of the divergence, what the n-grams of `from` contribute: sum p log2(p / mean).
double HalfDivergence(const Counts& from, const Counts& to) {
  double sum = 0;
  for (const auto& [hash, p] : from) {
    const auto found = to.find(hash);
    const double q = found == to.end() ? 0 : found->second;
    sum += p * std::log2(2 * p / (p + q));
  }
  return sum / 2;
}

std::vector<double> Lengths(const TextSample& sample) {
  std::vector<double> lengths;
  for (const auto& words : sample.documents) lengths.push_back(static_cast<double>(words.size()));
  std::ranges::sort(lengths);
  return lengths;
}

}  // namespace

std::int64_t TextSample::words() const {
  std::int64_t sum = 0;
  for (const auto& document : documents) sum += std::ssize(document);
  return sum;
}

TextSample ThinnedTo(const TextSample& sample, std::int64_t words) {
  TextSample thinned;
  const auto count = sample.documents.size();
  const auto stride =
      static_cast<std::size_t>(sample.words() / std::max<std::int64_t>(words, 1)) + 1;
  for (std::size_t first = 0; first < stride; ++first) {
    for (std::size_t i = first; i < count && words > 0; i += stride) {
      const auto& document = sample.documents[i];
      const auto taken = std::min(words, std::ssize(document));
      thinned.documents.emplace_back(document.begin(), document.begin() + taken);
      words -= taken;
    }
  }
  return thinned;
}

void Vocabulary::AddDocument(std::string_view text, TextSample& sample) {
  std::vector<std::int32_t>& words = sample.documents.emplace_back();
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    const auto number = static_cast<std::int32_t>(numbers_.size());
    words.push_back(numbers_.try_emplace(std::move(word), number).first->second);
    word.clear();
  };
  for (const char character : text) {
    if (!IsLetter(character)) {
      end_word();
    } else {
      word.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(character))));
    }
  }
  end_word();
}

double NgramDivergence(const TextSample& a, const TextSample& b, int n) {
  Counts of_a;
  Counts of_b;
  const double total_a = Frequencies(a, n, of_a);
  const double total_b = Frequencies(b, n, of_b);
  if (total_a == 0 || total_b == 0) return kNone;
  return HalfDivergence(of_a, of_b) + HalfDivergence(of_b, of_a);
}

double LengthDistance(const TextSample& a, const TextSample& b) {
  const std::vector<double> of_a = Lengths(a);
  const std::vector<double> of_b = Lengths(b);
  if (of_a.empty() || of_b.empty()) return kNone;
  // Both quantile functions, from one step of either to the next.
  double distance = 0;
  double from = 0;
  for (std::size_t i = 0, j = 0; i < of_a.size() && j < of_b.size();) {
    const double end_a = static_cast<double>(i + 1) / static_cast<double>(of_a.size());
    const double end_b = static_cast<double>(j + 1) / static_cast<double>(of_b.size());
    const double to = std::min(end_a, end_b);
    distance += (to - from) * std::abs(of_a[i] - of_b[j]);
    from = to;
    if (end_a <= to) ++i;
    if (end_b <= to) ++j;
  }
  return distance;
}

void CopySearch::Watch(const TextSample& text) {
  ForEachNgram(text, n_, [this](std::uint64_t hash) { is_copied_.try_emplace(hash, false); });
}

void CopySearch::Read(const TextSample& source) {
  ForEachNgram(source, n_, [this](std::uint64_t hash) {
    const auto found = is_copied_.find(hash);
    if (found != is_copied_.end()) found->second = true;
  });
}

double CopySearch::ShareCopied(const TextSample& text) const {
  double places = 0;
  double copied = 0;
  ForEachNgram(text, n_, [&](std::uint64_t hash) {
    ++places;
    if (is_copied_.at(hash)) ++copied;
  });
  return places == 0 ? kNone : copied / places;
}

}  // namespace submix::eval

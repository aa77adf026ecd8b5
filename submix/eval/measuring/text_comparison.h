// How like real text some other text is, and what it copies, by its words alone: no model is asked.
// A word is a run of letters and digits without case; every byte beyond ASCII counts as a letter.
//
// For the operator: what is said of private text here is outside the budget.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace submix::eval {

// The words of documents, by numbers that a Vocabulary gave them; or their tokens.
struct TextSample {
  std::vector<std::vector<std::int32_t>> documents;

  std::int64_t words() const;
};

// So many of its words (or all, if it has fewer), of documents from all over it, the last one cut:
// distances between samples of one size compare.
TextSample ThinnedTo(const TextSample& sample, std::int64_t words);

// Gives equal words equal numbers. Samples that are compared come from one vocabulary.
class Vocabulary {
 public:
  void AddDocument(std::string_view text, TextSample& sample);

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

// Jensen and Shannon's divergence between the frequencies of n words in a row, in bits: 0 for equal
// ones, 1 for samples that have none in common. NaN if one of them has none. Requires: n >= 1.
double NgramDivergence(const TextSample& a, const TextSample& b, int n);

// Wasserstein's distance between the documents' numbers of words, in words: how much longer or
// shorter the documents of one would have to be made to be as long as the other's. NaN if one of
// them has none.
double LengthDistance(const TextSample& a, const TextSample& b);

// Which n words in a row of some texts stand in others, too. Each n-gram is kept as 64 bits of a
// hash: of m different ones two are taken for one with probability below m^2 / 2^65. Memory grows
// with the texts that are watched, not with those that are read.
class CopySearch {
 public:
  // Requires: n >= 1.
  explicit CopySearch(int n) : n_(n) {}

  // First all texts that may hold copies, then all that they may be copies of.
  void Watch(const TextSample& text);
  void Read(const TextSample& source);

  // Which share of the places of a watched text at which n words stand repeats what was read. NaN
  // if it has no such place.
  double ShareCopied(const TextSample& text) const;

 private:
  const int n_;
  std::unordered_map<std::uint64_t, bool> is_copied_;
};

}  // namespace submix::eval

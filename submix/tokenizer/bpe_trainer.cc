#include "submix/tokenizer/bpe_trainer.h"

#include <optional>
#include <vector>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/merge_learner.h"
#include "submix/tokenizer/pre_tokenizer.h"

namespace submix::tokenizer {
namespace {

constexpr int kNumBytes = 256;

// In the order of the ids, as GPT-2's own file is.
std::string VocabularyJson(const std::vector<std::string>& tokens) {
  std::string json = "{";
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    json += base::JsonText(SpellBytes(tokens[id])) + ": " + std::to_string(id) + ", ";
  }
  return json + "\"<|endoftext|>\": " + std::to_string(tokens.size()) + "}\n";
}

std::string MergeLine(const MergeLearner::Merge& merge, const std::vector<std::string>& tokens) {
  const auto spell = [&](base::TokenId id) {
    return SpellBytes(tokens[static_cast<std::size_t>(id)]);
  };
  return spell(merge.left) + " " + spell(merge.right) + "\n";
}

}  // namespace

void BpeTrainer::AddText(std::string_view text) {
  WordScanner scanner(text);
  while (const std::optional<std::string_view> word = scanner.Next()) {
    const auto entry = word_counts_.find(*word);
    if (entry != word_counts_.end()) {
      ++entry->second;
    } else {
      word_counts_.emplace(*word, 1);
    }
  }
}

base::Status BpeTrainer::Train(int vocab_size, const std::string& directory) const {
  if (vocab_size < kNumBytes + 1) {
    return base::InvalidArgumentError(
        "a vocabulary of " + std::to_string(vocab_size) +
        " is too small: the 256 bytes and \"<|endoftext|>\" need 257");
  }
  MergeLearner learner;
  for (const auto& [word, count] : word_counts_) learner.AddWord(word, count);
  const auto num_tokens = static_cast<std::size_t>(vocab_size - 1);
  std::string merges_text = "#version: 0.2\n";
  while (learner.tokens().size() < num_tokens) {
    const std::optional<MergeLearner::Merge> merge = learner.MergeBest();
    if (!merge) {
      return base::InvalidArgumentError("the text has pairs for a vocabulary of only " +
                                        std::to_string(learner.tokens().size() + 1) + ", not of " +
                                        std::to_string(vocab_size) +
                                        ": use a smaller vocabulary or more text");
    }
    merges_text += MergeLine(*merge, learner.tokens());
  }
  SUBMIX_RETURN_IF_ERROR(
      base::WriteFile(base::JoinPath(directory, "vocab.json"), VocabularyJson(learner.tokens())));
  return base::WriteFile(base::JoinPath(directory, "merges.txt"), merges_text);
}

}  // namespace submix::tokenizer

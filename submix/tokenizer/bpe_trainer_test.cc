#include "submix/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/tokenizer/byte_alphabet.h"
#include "submix/tokenizer/pre_tokenizer.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::tokenizer {
namespace bpe_trainer_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

using SpeltWord = std::vector<std::string>;

std::string ReadFile(const std::string& path) {
  base::StatusOr<std::string> content = base::ReadFile(path);
  EXPECT_TRUE(content.ok()) << content.status();
  return content.ok() ? *content : "";
}

// The definition: counts every pair anew before each merge. Returns merges.txt.
class BruteForceTrainer {
 public:
  void AddText(const std::string& text) {
    const auto words = Gpt2PreTokenizer().Cut(text).value();
    for (const std::string_view word : words) {
      SpeltWord spelt;
      for (const char byte : word) spelt.emplace_back(1, byte);
      ++words_[spelt];
    }
  }

  std::string Merges(std::size_t num_new_tokens) {
    std::string lines = "#version: 0.2\n";
    std::set<std::string> new_tokens;
    while (new_tokens.size() < num_new_tokens) {
      const auto [left, right] = BestPair();
      new_tokens.insert(left + right);
      lines += SpellBytes(left) + " " + SpellBytes(right) + "\n";
      Merge(left, right);
    }
    return lines;
  }

 private:
  std::pair<std::string, std::string> BestPair() const {
    std::map<std::pair<std::string, std::string>, std::int64_t> counts;
    for (const auto& [word, count] : words_) {
      for (std::size_t i = 1; i < word.size(); ++i) counts[{word[i - 1], word[i]}] += count;
    }
    const auto best = std::min_element(counts.begin(), counts.end(), [](auto& a, auto& b) {
      const auto rank = [](const auto& entry) {
        const auto& [left, right] = entry.first;
        return std::tuple(-entry.second, left + right, left.size());
      };
      return rank(a) < rank(b);
    });
    return best->first;
  }

  void Merge(const std::string& left, const std::string& right) {
    std::map<SpeltWord, std::int64_t> words;
    for (const auto& [word, count] : words_) {
      SpeltWord merged;
      for (std::size_t i = 0; i < word.size(); ++i) {
        const bool is_pair = i + 1 < word.size() && word[i] == left && word[i + 1] == right;
        merged.push_back(is_pair ? left + right : word[i]);
        if (is_pair) ++i;
      }
      words[merged] += count;
    }
    words_ = std::move(words);
  }

  std::map<SpeltWord, std::int64_t> words_;
};

std::vector<std::string> SomeShakespeare(int num_lines) {
  std::ifstream file(SUBMIX_DATA_DIR "/shakespeare.jsonl");
  std::vector<std::string> texts;
  for (std::string line; num_lines > 0 && std::getline(file, line); --num_lines) {
    texts.push_back(nlohmann::json::parse(line).at("text"));
  }
  return texts;
}

void ExpectAgreesWithBruteForce(const std::vector<std::string>& texts, int num_new_tokens) {
  const base::TemporaryDirectory directory;
  BpeTrainer trainer;
  BruteForceTrainer reference;
  for (const std::string& text : texts) {
    SUBMIX_ASSERT_OK(trainer.AddText(text));
    reference.AddText(text);
  }
  SUBMIX_ASSERT_OK(trainer.Train(257 + num_new_tokens, directory.path()));
  EXPECT_EQ(ReadFile(directory.File("merges.txt")),
            reference.Merges(static_cast<std::size_t>(num_new_tokens)));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::Load(directory.path()));
  EXPECT_EQ(tokenizer->vocab_size(), 257 + num_new_tokens);
  EXPECT_EQ(tokenizer->end_of_text(), 256 + num_new_tokens);
}

TEST(BpeTrainerTest, AgreesWithBruteForceOnEnglish) {
  ExpectAgreesWithBruteForce(SomeShakespeare(100), 150);
}

TEST(BpeTrainerTest, AgreesWithBruteForceWherePairsOverlapAndTie) {
  const auto random = base::MakeSeededRandomSource(4);
  for (int round = 0; round < 30; ++round) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "aaab \xff"[random->NextBelow(6)];
    ExpectAgreesWithBruteForce({text}, 20);
  }
}

TEST(BpeTrainerTest, WritesVocabularyInGpt2sOrder) {
  const base::TemporaryDirectory directory;
  BpeTrainer trainer;
  SUBMIX_ASSERT_OK(trainer.AddText("the the the cat"));
  SUBMIX_ASSERT_OK(trainer.Train(260, directory.path()));
  const std::string vocabulary = ReadFile(directory.File("vocab.json"));
  EXPECT_TRUE(vocabulary.starts_with("{\"!\": 0, \"\\\"\": 1, \"#\": 2, ")) << vocabulary;
  EXPECT_TRUE(vocabulary.ends_with(
      "\"\u0143\": 255, \"he\": 256, \"the\": 257, \"Ġthe\": 258, \"<|endoftext|>\": 259}\n"))
      << vocabulary;
  EXPECT_EQ(ReadFile(directory.File("merges.txt")), "#version: 0.2\nh e\nt he\nĠ the\n");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::Load(directory.path()));
  EXPECT_THAT(tokenizer->Encode("the the").value(), ::testing::ElementsAre(257, 258));
}

TEST(BpeTrainerTest, GivesEqualFilesWhateverTheOrderOfTheTexts) {
  const base::TemporaryDirectory directory;
  std::vector<std::string> texts = SomeShakespeare(2000);
  std::vector<std::string> files;
  for (int round = 0; round < 2; ++round) {
    BpeTrainer trainer;
    for (const std::string& text : texts) SUBMIX_ASSERT_OK(trainer.AddText(text));
    SUBMIX_ASSERT_OK(trainer.Train(1000, directory.path()));
    files.push_back(ReadFile(directory.File("vocab.json")) +
                    ReadFile(directory.File("merges.txt")));
    std::reverse(texts.begin(), texts.end());
  }
  EXPECT_EQ(files[0], files[1]);
}

TEST(BpeTrainerTest, ASmallestVocabularyHasTheBytesOnly) {
  const base::TemporaryDirectory directory;
  SUBMIX_ASSERT_OK(BpeTrainer().Train(257, directory.path()));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Tokenizer::Load(directory.path()));
  EXPECT_EQ(tokenizer->Encode("abc").value().size(), 3u);
}

TEST(BpeTrainerTest, RefusesAVocabularyWithoutRoomForTheBytes) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(BpeTrainer().Train(256, directory.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("257")));
}

TEST(BpeTrainerTest, RefusesTextWithTooFewPairs) {
  const base::TemporaryDirectory directory;
  BpeTrainer trainer;
  SUBMIX_ASSERT_OK(trainer.AddText("abc abc"));
  EXPECT_THAT(trainer.Train(300, directory.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("only 260, not of 300")));
}

TEST(BpeTrainerTest, ReportsAMissingDirectory) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(BpeTrainer().Train(257, directory.File("nowhere")),
              StatusIs(StatusCode::kNotFound, HasSubstr("nowhere")));
}

}  // namespace bpe_trainer_test
}  // namespace submix::tokenizer

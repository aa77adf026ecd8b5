// The tokenizers that the families' publishers ship, against ids by Hugging Face's own library. The
// files are theirs and not of this repository: without them every test is skipped.
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/tokenizer/normalizer.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::tokenizer {
namespace published_tokenizers_test {

using base::TokenId;
using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::Not;

const char kShared[] = SUBMIX_SHARED_DIR "/data/oracle/tokenizers/";

// One family's files, unpacked and read once for all tests: reading them takes seconds.
class PublishedTokenizersTest : public ::testing::TestWithParam<const char*> {
 protected:
  struct Files {
    base::TemporaryDirectory directory;
    std::unique_ptr<Tokenizer> tokenizer;
    json added_tokens;
    std::set<TokenId> markers;
  };

  void SetUp() override {
    const std::string from = kShared + std::string(GetParam());
    if (!base::FileExists(from + "/tokenizer.json.xz")) GTEST_SKIP() << from << " is not there";
    static std::map<std::string, Files> files_of_family;
    files_ = &files_of_family[GetParam()];
    if (files_->tokenizer == nullptr) Read(from);
  }

  void Read(const std::string& from) {
    for (const std::string name : {"tokenizer.json", "tokenizer_config.json", "cases.jsonl"}) {
      const std::string source = from + "/" + name;
      const std::string to = "' > '" + files_->directory.File(name) + "'";
      const std::string command =
          base::FileExists(source) ? "cat '" + source + to : "xz -dc '" + source + ".xz" + to;
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
    }
    auto loaded = Tokenizer::Load(files_->directory.path());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    files_->tokenizer = *std::move(loaded);
    std::ifstream file(files_->directory.File("tokenizer.json"));
    files_->added_tokens = json::parse(file).at("added_tokens");
    for (const json& token : files_->added_tokens) {
      if (const auto id = tokenizer().special_token(token.at("content").get<std::string>())) {
        EXPECT_EQ(*id, token.at("id"));
        files_->markers.insert(*id);
      }
    }
  }

  const Tokenizer& tokenizer() const { return *files_->tokenizer; }

  std::vector<json> Cases() const {
    std::ifstream file(files_->directory.File("cases.jsonl"));
    std::vector<json> cases;
    for (std::string line; std::getline(file, line);) cases.push_back(json::parse(line));
    return cases;
  }

  bool HasMarker(const std::vector<TokenId>& tokens) const {
    return std::ranges::any_of(tokens, [this](TokenId id) { return files_->markers.contains(id); });
  }

  // What becomes of text that has no U+2581 and is in NFC, which is what comes back exactly.
  void ExpectComesBack(const std::string& text) const {
    const std::vector<TokenId> tokens = tokenizer().Encode(text).value();
    EXPECT_FALSE(HasMarker(tokens));
    EXPECT_EQ(tokenizer().Decode(tokens), text);
  }

  Files* files_ = nullptr;
};

// Where their library takes a marker out of the text, its id must not come from ours.
TEST_P(PublishedTokenizersTest, GiveTheIdsOfTheirOwnLibraryButNoMarkerFromText) {
  const std::vector<json> cases = Cases();
  ASSERT_EQ(cases.size(), 260u);
  int num_forgeries = 0;
  for (const json& one : cases) {
    const std::string text = one.at("text");
    const auto expected = one.at("ids").get<std::vector<TokenId>>();
    const std::vector<TokenId> tokens = tokenizer().Encode(text).value();
    if (HasMarker(expected)) {
      ++num_forgeries;
      EXPECT_FALSE(HasMarker(tokens)) << text;
      EXPECT_EQ(tokenizer().Decode(tokens), text);
      continue;
    }
    EXPECT_EQ(tokens, expected) << one.at("text");
    EXPECT_EQ(tokenizer().Decode(tokens), one.at("decoded")) << one.at("text");
    std::vector<TokenId> surrounded = tokenizer().prefix();
    surrounded.insert(surrounded.end(), tokens.begin(), tokens.end());
    EXPECT_EQ(surrounded, one.at("ids_with_special").get<std::vector<TokenId>>());
  }
  EXPECT_GT(num_forgeries, 0);
}

TEST_P(PublishedTokenizersTest, NoMarkerComesOfItsOwnText) {
  EXPECT_THAT(files_->markers, Not(IsEmpty()));
  std::string all;
  for (const json& token : files_->added_tokens) {
    const std::string content = token.at("content");
    EXPECT_FALSE(HasMarker(tokenizer().Encode(content).value())) << content;
    EXPECT_FALSE(HasMarker(tokenizer().Encode("x " + content + content + " y").value())) << content;
    all += content;
  }
  EXPECT_FALSE(HasMarker(tokenizer().Encode(all).value()));
}

TEST_P(PublishedTokenizersTest, AnyBytesComeBack) {
  const auto random = base::MakeSeededRandomSource(5);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random->NextBelow(300), '\0');
    random->Fill(std::as_writable_bytes(std::span(bytes)));
    // The two that a normalizer may change: U+2581, and what is not in NFC, above U+0300.
    for (char& byte : bytes) {
      if (static_cast<unsigned char>(byte) >= 0xcc) byte = '\xff';
    }
    ExpectComesBack(bytes);
  }
  for (const char* text :
       {"", " ", "  a  ", "\n\n\n", "\xe2\x82 \xe2", "naïve \xff\xfe", "a\tb\r\n", "<0x0A>",
        "\xe4\xbd\xa0\xe5\xa5\xbd", "👩‍👩‍👧 🇩🇪"}) {
    ExpectComesBack(text);
  }
}

TEST_P(PublishedTokenizersTest, AnyCharacterComesBackAsTheHeaderSays) {
  const bool has_spaces_spelt =
      GetParam() == std::string("llama2") || GetParam() == std::string("gemma3");
  for (const json& one : Cases()) {
    const std::string text = one.at("text");
    std::string expected = text;
    if (has_spaces_spelt) expected = ReplaceAll(text, "▁", " ");
    if (GetParam() == std::string("qwen3"))
      expected = Normalizer({Normalizer::Compose{}}).Apply(text, true);
    EXPECT_EQ(tokenizer().Decode(tokenizer().Encode(text).value()), expected);
  }
}

TEST_P(PublishedTokenizersTest, KnowTheEndOfText) {
  const std::map<std::string, std::string> expected = {{"llama3", "<|end_of_text|>"},
                                                       {"qwen3", "<|im_end|>"},
                                                       {"gemma3", "<end_of_turn>"},
                                                       {"llama2", "</s>"}};
  EXPECT_EQ(tokenizer().end_of_text(), tokenizer().special_token(expected.at(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Families, PublishedTokenizersTest,
                         ::testing::Values("llama3", "qwen3", "gemma3", "llama2"),
                         [](const auto& family) { return std::string(family.param); });

}  // namespace published_tokenizers_test
}  // namespace submix::tokenizer

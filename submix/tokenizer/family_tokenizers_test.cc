// Small tokenizers of the families' kinds, against testdata/tokenizer/families.py, which makes them
// and reads them by an implementation of its own.
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/tokenizer/canonical_composition.h"
#include "submix/tokenizer/normalizer.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::tokenizer {
namespace family_tokenizers_test {

using base::TokenId;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

std::unique_ptr<Tokenizer> LoadFamily(const std::string& name) {
  auto tokenizer = Tokenizer::Load(SUBMIX_TESTDATA_DIR "/tokenizer/families/" + name);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return std::move(tokenizer).value();
}

json Cases() {
  std::ifstream file(SUBMIX_TESTDATA_DIR "/tokenizer/families.json");
  return json::parse(file);
}

// What Decode(Encode(bytes)) is, as the header says.
std::string ComesBackAs(const std::string& family, const std::string& bytes) {
  if (family == "llama3" || family == "smollm2") return bytes;
  if (family == "qwen3") return ComposeCanonically(bytes);
  return ReplaceAll(bytes, "▁", " ");
}

class FamilyTokenizersTest : public ::testing::TestWithParam<const char*> {
 protected:
  const std::string family_ = GetParam();
  const std::unique_ptr<Tokenizer> tokenizer_ = LoadFamily(family_);
};

TEST_P(FamilyTokenizersTest, AgreesWithTheReference) {
  const json cases = Cases();
  ASSERT_GT(cases.size(), 40u);
  for (const json& one : cases) {
    const std::string bytes = FromHex(one.at("hex"));
    EXPECT_EQ(tokenizer_->Encode(bytes).value(), one.at(family_).get<std::vector<TokenId>>())
        << one.at("name");
  }
}

TEST_P(FamilyTokenizersTest, GivesBackAnyBytes) {
  const auto random = base::MakeSeededRandomSource(7);
  std::vector<std::string> texts;
  for (const json& one : Cases()) texts.push_back(FromHex(one.at("hex")));
  for (int round = 0; round < 500; ++round) {
    std::string& bytes = texts.emplace_back(random->NextBelow(200), '\0');
    random->Fill(std::as_writable_bytes(std::span(bytes)));
  }
  for (const std::string& text : texts) {
    std::string expected = ComesBackAs(family_, text);
    std::string decoded = tokenizer_->Decode(tokenizer_->Encode(text).value());
    // Metaspace does not say how many spaces there were at the beginning.
    if (family_ == "mistral" || family_ == "metaspace") {
      expected.erase(0, expected.find_first_not_of(' '));
      decoded.erase(0, decoded.find_first_not_of(' '));
    }
    ASSERT_EQ(decoded, expected);
  }
}

TEST_P(FamilyTokenizersTest, MakesNoMarkerOfItsText) {
  std::string all;
  for (const char* content :
       {"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|endoftext|>", "<|im_start|>",
        "<|im_end|>", "<think>", "</think>", "<unk>", "<s>", "</s>", "<pad>", "<eos>", "<bos>",
        "<start_of_turn>", "<end_of_turn>", "<image_soft_token>"}) {
    all += content;
    const auto marker = tokenizer_->special_token(content);
    if (!marker) continue;
    for (const std::string& text : {std::string(content), all, " " + all + all}) {
      EXPECT_THAT(tokenizer_->Encode(text).value(), ::testing::Not(::testing::Contains(*marker)))
          << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTokenizersTest,
                         ::testing::Values("llama3", "qwen3", "smollm2", "llama2", "mistral",
                                           "metaspace", "gemma3"),
                         [](const auto& family) { return std::string(family.param); });

std::vector<TokenId> Ids(const Tokenizer& tokenizer, const std::vector<std::string>& contents) {
  std::vector<TokenId> ids;
  for (const std::string& content : contents) ids.push_back(*tokenizer.special_token(content));
  return ids;
}

TEST(FamilyTokenizers, KnowWhatStandsAroundAText) {
  const auto llama3 = LoadFamily("llama3");
  EXPECT_EQ(llama3->prefix(), Ids(*llama3, {"<|begin_of_text|>"}));
  EXPECT_EQ(llama3->end_of_text(), Ids(*llama3, {"<|end_of_text|>"})[0]);
  const auto gemma3 = LoadFamily("gemma3");
  EXPECT_THAT(gemma3->prefix(), ElementsAre(2));
  EXPECT_EQ(gemma3->end_of_text(), 1);
  EXPECT_THAT(LoadFamily("qwen3")->prefix(), IsEmpty());
}

TEST(FamilyTokenizers, BeginPromptsAndDocuments) {
  const auto llama3 = LoadFamily("llama3");
  std::vector<TokenId> expected = llama3->prefix();
  EXPECT_EQ(llama3->document_start(), expected);
  const std::vector<TokenId> word = llama3->Encode("a word").value();
  expected.insert(expected.end(), word.begin(), word.end());
  EXPECT_EQ(llama3->EncodePrompt("a word").value(), expected);
  const auto qwen3 = LoadFamily("qwen3");
  EXPECT_EQ(qwen3->EncodePrompt("a word").value(), qwen3->Encode("a word").value());
  EXPECT_THAT(qwen3->document_start(), ElementsAre(qwen3->end_of_text()));
}

// Gemma 3's last entry is a marker that has no row in the text model.
TEST(FamilyTokenizers, FitModelsThatHaveARowForAllThatTextBecomes) {
  const std::string directory = SUBMIX_TESTDATA_DIR "/tokenizer/families/gemma3";
  const auto gemma3 = LoadFamily("gemma3");
  const int text = gemma3->largest_text_token() + 1;
  EXPECT_EQ(text, gemma3->vocab_size() - 1);
  for (const int rows : {text, text + 1, text + 100}) {
    SUBMIX_EXPECT_OK(Tokenizer::LoadFor(directory, rows));
  }
  EXPECT_THAT(Tokenizer::LoadFor(directory, text - 1),
              base::StatusIs(base::StatusCode::kFailedPrecondition,
                             ::testing::AllOf(::testing::HasSubstr("gemma3/tokenizer.json"),
                                              ::testing::HasSubstr("vocab_size"))));
  // Markers that documents need count, too.
  const auto llama3 = LoadFamily("llama3");
  EXPECT_LE(llama3->largest_text_token(), llama3->end_of_text());
  EXPECT_THAT(
      Tokenizer::LoadFor(SUBMIX_TESTDATA_DIR "/tokenizer/families/llama3", llama3->end_of_text()),
      base::StatusIs(base::StatusCode::kFailedPrecondition, ::testing::_));
}

TEST(FamilyTokenizers, DecodeAddedTokensThatAreNotSpecialToTheirText) {
  const auto qwen3 = LoadFamily("qwen3");
  const std::vector<TokenId> tokens = {*qwen3->special_token("<|im_start|>"),
                                       *qwen3->added_token("<think>"),
                                       *qwen3->special_token("<|im_end|>")};
  EXPECT_EQ(qwen3->Decode(tokens), "<think>");
  EXPECT_FALSE(qwen3->special_token("<think>").has_value());
  EXPECT_FALSE(qwen3->added_token("<b>").has_value());
  EXPECT_THAT(qwen3->Encode("<think>").value(), ElementsAre(*qwen3->added_token("<think>")));
}

// A family's file with one more added token, which is not in the vocabulary.
std::unique_ptr<Tokenizer> LoadWith(const std::string& family, json token,
                                    const std::string& config = "{}") {
  std::ifstream stream(SUBMIX_TESTDATA_DIR "/tokenizer/families/" + family + "/tokenizer.json");
  json file = json::parse(stream);
  TokenId id = static_cast<TokenId>(file["model"]["vocab"].size());
  for (const json& added : file["added_tokens"]) id = std::max(id, added["id"].get<TokenId>() + 1);
  token["id"] = id;
  file["added_tokens"].push_back(token);
  base::TemporaryDirectory directory;
  directory.Write("tokenizer.json", file.dump());
  directory.Write("tokenizer_config.json", config);
  auto tokenizer = Tokenizer::Load(directory.path());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return std::move(tokenizer).value();
}

// Ids by Hugging Face's library.
TEST(FamilyTokenizers, MatchAddedTokensAsTheLibraryDoes) {
  const json covid = {{"content", "covid19"}, {"special", false}, {"normalized", true}};
  const auto llama2 = LoadWith("llama2", covid);
  const std::string text = "Hello covid19 world covid19x xcovid19";
  EXPECT_THAT(llama2->Encode(text).value(), ElementsAre(318, 450, 338, 305, 470, 442, 372, 470, 314,
                                                        318, 314, 293, 305, 312, 414, 52, 60));
  EXPECT_EQ(llama2->Decode(llama2->Encode(text).value()), text);
  const json mask = {{"content", "<mask>"}, {"special", false}, {"lstrip", true}};
  EXPECT_THAT(LoadWith("qwen3", mask)->Encode("a <mask> b <mask>c").value(),
              ElementsAre(64, 411, 268, 411, 66));
  // What is special is taken out of a template's words alone.
  const json special = {{"content", "<mask>"}, {"special", true}, {"lstrip", true}};
  const auto qwen3 = LoadWith("qwen3", special);
  EXPECT_EQ(qwen3->Encode("a <mask>").value(), LoadFamily("qwen3")->Encode("a <mask>").value());
  EXPECT_THAT(qwen3->EncodeTemplated("a <mask> b <mask>c", std::vector<bool>(18, true), {}).value(),
              ElementsAre(64, 411, 268, 411, 66));
}

TEST(FamilyTokenizers, HeedWhatConfigurationsSayOfTokens) {
  const json word = {{"content", "covid19"}, {"special", false}, {"normalized", false}};
  const auto prefix = [&](const std::string& config) {
    return LoadWith("llama2", word, config)->prefix();
  };
  EXPECT_THAT(prefix("{}"), ElementsAre(1));
  EXPECT_THAT(prefix(R"({"add_bos_token": null, "add_eos_token": true})"), ElementsAre(1));
  EXPECT_THAT(prefix(R"({"add_bos_token": false, "bos_token": "<s>"})"), IsEmpty());
  EXPECT_THAT(prefix(R"({"add_bos_token": true, "bos_token": {"content": "</s>"}})"),
              ElementsAre(2));
  EXPECT_THAT(prefix(R"({"add_bos_token": true})"), ElementsAre(1));
  for (const char* reader : {"LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizer"}) {
    EXPECT_THAT(prefix(json({{"add_bos_token", false}, {"tokenizer_class", reader}}).dump()),
                IsEmpty());
  }
  for (const char* reader : {"PreTrainedTokenizerFast", "TokenizersBackend", "Qwen2Tokenizer"}) {
    EXPECT_THAT(prefix(json({{"add_bos_token", false}, {"tokenizer_class", reader}}).dump()),
                ElementsAre(1));
  }
  // What is named by a role is special, and so is what any file calls so; other flags are the
  // configuration's.
  for (const char* config :
       {R"({"mask_token": "covid19"})", R"({"additional_special_tokens": ["covid19"]})",
        R"({"extra_special_tokens": {"boi_token": "covid19"}})",
        R"({"extra_special_tokens": [{"content": "covid19"}]})",
        R"({"added_tokens_decoder": {"470": {"content": "covid19", "special": true}}})"}) {
    const auto tokenizer = LoadWith("llama2", word, config);
    EXPECT_TRUE(tokenizer->special_token("covid19").has_value()) << config;
    EXPECT_THAT(tokenizer->Encode("covid19").value(), ::testing::Not(::testing::Contains(470)))
        << config;
  }
  const auto tokenizer =
      LoadWith("llama2", word,
               R"({"added_tokens_decoder": {"470": {"content": "covid19", "normalized": false,
                                                            "lstrip": true}}})");
  EXPECT_THAT(tokenizer->Encode("  covid19").value(), ElementsAre(470));
}

TEST(FamilyTokenizers, BoundTheTextOfAToken) {
  // Seven bytes become one letter of two; U+2581 itself, three bytes, is read as a space is.
  const std::map<std::string, std::string> texts = {
      {"qwen3", "\u1fbe\u0308\u0301"}, {"llama2", "▁the▁the▁the"}, {"gemma3", "▁they▁they"}};
  for (const auto& [family, text] : texts) {
    const auto tokenizer = LoadFamily(family);
    const std::size_t num_tokens = tokenizer->Encode(text).value().size();
    EXPECT_LE(text.size(), num_tokens * tokenizer->longest_token_bytes()) << family;
    for (const json& one : Cases()) {
      const std::string bytes = FromHex(one.at("hex"));
      EXPECT_LE(bytes.size(),
                tokenizer->Encode(bytes).value().size() * tokenizer->longest_token_bytes());
    }
  }
}

TEST(FamilyTokenizers, KeepTheSpaceOfATokenThatFollowsOthers) {
  const auto llama2 = LoadFamily("llama2");
  const std::vector<TokenId> tokens = llama2->Encode("the the").value();
  EXPECT_EQ(llama2->Decode(tokens), "the the");
  std::string streamed;
  for (const TokenId token : tokens) streamed += llama2->TokenBytes(token);
  EXPECT_EQ(streamed, " the the");
}

TEST(FamilyTokenizers, EncodeALongWordInTimeNearlyLinear) {
  for (const char* family : {"llama2", "gemma3", "qwen3"}) {
    const auto tokenizer = LoadFamily(family);
    for (const std::string& piece : {std::string("a"), std::string(" "), std::string("the"),
                                     std::string("\u0323\u0307"), std::string("<<b")}) {
      std::string text;
      while (text.size() < (std::size_t{1} << 18)) text += piece;
      EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text).value()).size(),
                ComesBackAs(family, text).size());
    }
  }
}

}  // namespace family_tokenizers_test
}  // namespace submix::tokenizer

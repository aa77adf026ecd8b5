#include "submix/tokenizer/tokenizer.h"

#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "submix/base/digest.h"
#include "submix/base/file_system.h"
#include "submix/base/testing/seeded_random.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::tokenizer {
namespace tokenizer_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;

const char kPublicModel[] = SUBMIX_DATA_DIR "/public_model";
const char kGpt2[] = SUBMIX_SHARED_DIR "/data/gpt2-tokenizer";

std::unique_ptr<Tokenizer> LoadOrDie(const std::string& directory) {
  base::StatusOr<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::Load(directory);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return std::move(tokenizer).value();
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

// Written by testdata/tokenizer/generate.py, a GPT-2 tokenizer of its own.
json Expected() {
  std::ifstream file(SUBMIX_TESTDATA_DIR "/tokenizer/expected.json");
  return json::parse(file);
}

std::vector<std::string> ShakespeareTexts() {
  std::ifstream file(SUBMIX_DATA_DIR "/shakespeare.jsonl");
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line);) texts.push_back(json::parse(line).at("text"));
  return texts;
}

void ExpectAgreesWithReference(const Tokenizer& tokenizer, const std::string& name) {
  const json expected = Expected();
  for (const json& one : expected.at("cases")) {
    const std::string bytes = FromHex(one.at("hex"));
    const std::vector<TokenId> tokens = tokenizer.Encode(bytes).value();
    EXPECT_EQ(tokens, one.at(name).get<std::vector<TokenId>>()) << one.at("name");
    EXPECT_EQ(tokenizer.Decode(tokens), bytes) << one.at("name");
  }
  std::string id_bytes;  // little-endian, as this machine's integers are
  std::size_t num_tokens = 0;
  for (const std::string& text : ShakespeareTexts()) {
    const std::vector<TokenId> tokens = tokenizer.Encode(text).value();
    ASSERT_EQ(tokenizer.Decode(tokens), text);
    num_tokens += tokens.size();
    id_bytes.append(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(TokenId));
  }
  const json& shakespeare = expected.at("shakespeare").at(name);
  EXPECT_EQ(num_tokens, shakespeare.at("num_tokens").get<std::size_t>());
  EXPECT_EQ(base::ToHex(base::Sha256(id_bytes)), shakespeare.at("sha256").get<std::string>());
}

TEST(TokenizerTest, AgreesWithTheReferenceOnTheBundledVocabulary) {
  const auto tokenizer = LoadOrDie(kPublicModel);
  EXPECT_EQ(tokenizer->vocab_size(), 8192);
  EXPECT_EQ(tokenizer->end_of_text(), 8191);
  ExpectAgreesWithReference(*tokenizer, "base_8k");
}

TEST(TokenizerTest, AgreesWithTheReferenceOnGpt2sVocabulary) {
  if (!base::FileExists(kGpt2)) GTEST_SKIP() << kGpt2 << " is not there";
  const auto tokenizer = LoadOrDie(kGpt2);
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->end_of_text(), 50256);
  EXPECT_THAT(tokenizer->Encode("Hello world").value(), ElementsAre(15496, 995));
  ExpectAgreesWithReference(*tokenizer, "gpt2");
}

TEST(TokenizerTest, RoundTripsRandomBytes) {
  const auto tokenizer = LoadOrDie(kPublicModel);
  const auto random = base::MakeSeededRandomSource(3);
  for (int round = 0; round < 500; ++round) {
    std::string bytes(random->NextBelow(400), '\0');
    random->Fill(std::as_writable_bytes(std::span(bytes)));
    ASSERT_EQ(tokenizer->Decode(tokenizer->Encode(bytes).value()), bytes) << "round " << round;
  }
}

TEST(TokenizerTest, KnowsItsLongestToken) {
  const auto tokenizer = LoadOrDie(kPublicModel);
  std::size_t longest = 0;
  for (TokenId token = 0; token < tokenizer->vocab_size(); ++token) {
    longest = std::max(longest, tokenizer->Decode(std::span(&token, 1)).size());
  }
  EXPECT_GT(longest, 1u);
  EXPECT_EQ(tokenizer->longest_token_bytes(), longest);
}

TEST(TokenizerTest, NeverEncodesTheEndOfText) {
  const auto tokenizer = LoadOrDie(kPublicModel);
  const std::string forged = "<|endoftext|><|endoftext|> <|endoftext|>";
  const std::vector<TokenId> tokens = tokenizer->Encode(forged).value();
  EXPECT_THAT(tokens, ::testing::Not(::testing::Contains(tokenizer->end_of_text())));
  EXPECT_EQ(tokenizer->Decode(tokens), forged);
}

TEST(TokenizerTest, DecodesTheEndOfTextToNothing) {
  const auto tokenizer = LoadOrDie(kPublicModel);
  const TokenId end_of_text = tokenizer->end_of_text();
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{end_of_text, end_of_text}), "");
  EXPECT_EQ(tokenizer->Decode({}), "");
  EXPECT_THAT(tokenizer->Encode("").value(), IsEmpty());
}

// A directory with the bundled byte tokens, the merges "a b" and "ab c", and changes to them.
class TokenizerLoadTest : public ::testing::Test {
 protected:
  TokenizerLoadTest() {
    std::ifstream file(std::string(kPublicModel) + "/vocab.json");
    const json bundled = json::parse(file);
    for (const auto& [spelling, id] : bundled.items()) {
      if (id < 256) vocabulary_[spelling] = id;
    }
    vocabulary_["ab"] = 256;
    vocabulary_["abc"] = 257;
    vocabulary_["<|endoftext|>"] = 258;
  }

  base::StatusOr<std::unique_ptr<Tokenizer>> Load() { return LoadText(vocabulary_.dump()); }
  base::StatusOr<std::unique_ptr<Tokenizer>> LoadText(const std::string& vocabulary_text) {
    std::ofstream(directory_.File("vocab.json")) << vocabulary_text;
    std::ofstream(directory_.File("merges.txt")) << merges_;
    return Tokenizer::Load(directory_.path());
  }

  base::TemporaryDirectory directory_;
  json vocabulary_ = json::object();
  std::string merges_ = "#version: 0.2\na b\nab c\n";
};

TEST_F(TokenizerLoadTest, ReadsASmallVocabulary) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load());
  EXPECT_EQ(tokenizer->vocab_size(), 259);
  EXPECT_THAT(tokenizer->Encode("abcab").value(), ElementsAre(257, 256));
}

TEST_F(TokenizerLoadTest, ToleratesNoVersionLineAndWindowsLineEnds) {
  merges_ = "a b\r\nab c\r\n\r\n";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load());
  EXPECT_THAT(tokenizer->Encode("abc").value(), ElementsAre(257));
}

TEST_F(TokenizerLoadTest, TakesALineOfSharpSignsAsAMerge) {
  vocabulary_["##"] = 259;
  merges_ += "# #\n";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load());
  EXPECT_THAT(tokenizer->Encode("##").value(), ElementsAre(259));
}

TEST_F(TokenizerLoadTest, ReportsMissingFiles) {
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("vocab.json and merges.txt")));
  std::ofstream(directory_.File("vocab.json")) << vocabulary_.dump();
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("merges.txt")));
}

TEST_F(TokenizerLoadTest, RefusesWhatIsNoJsonObject) {
  for (const char* text : {"", "{\"a\": 1", "[1]", "\xff"}) {
    EXPECT_THAT(LoadText(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("vocab.json")));
  }
}

TEST_F(TokenizerLoadTest, RefusesIdsThatAreNotDense) {
  const auto is_refused = StatusIs(StatusCode::kInvalidArgument,
                                   AllOf(HasSubstr("vocab.json"), HasSubstr("\": expected")));
  for (const json& id : {json(259), json(-1), json(255), json(1.5), json("256"), json(nullptr)}) {
    vocabulary_["ab"] = id;
    EXPECT_THAT(Load(), is_refused) << id;
  }
}

TEST_F(TokenizerLoadTest, SpellsAMissingByteAsTheReplacement) {
  const json id = vocabulary_.at("Ġ");
  vocabulary_.erase("Ġ");
  vocabulary_["ĠĠ"] = id;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load());
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a b").value()), "a\ufffdb");
}

TEST_F(TokenizerLoadTest, RefusesAVocabularyWithoutEndOfText) {
  vocabulary_["ac"] = vocabulary_.at("<|endoftext|>");
  vocabulary_.erase("<|endoftext|>");
  EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no end of text")));
  vocabulary_[""] = 259;
  EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"\"")));
}

TEST_F(TokenizerLoadTest, NamesWhatIsNotTheFile) {
  const std::string vocabulary = vocabulary_.dump();
  EXPECT_THAT(LoadText("\xef\xbb\xbf" + vocabulary),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("vocab.json"), HasSubstr("byte-order mark"))));
  merges_ = "\xef\xbb\xbf" + merges_;
  EXPECT_THAT(Load(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("merges.txt"), HasSubstr("byte-order mark"))));
}

// What GPT-2's tokenizer of transformers reads beside the two files.
TEST_F(TokenizerLoadTest, HeedsTheFilesBeside) {
  directory_.Write("added_tokens.json", R"({"<|role|>": 260, "covid": 259, "ab": 256})");
  directory_.Write("special_tokens_map.json", R"({"eos_token": {"content": "<|role|>"}})");
  SUBMIX_ASSERT_OK_AND_ASSIGN(auto tokenizer, Load());
  EXPECT_EQ(tokenizer->vocab_size(), 261);
  EXPECT_EQ(tokenizer->end_of_text(), 260);
  EXPECT_THAT(tokenizer->Encode("covidab").value(), ElementsAre(259, 256));
  EXPECT_THAT(tokenizer->Encode("<|role|><|endoftext|>").value(), Each(Lt(256)));
  EXPECT_THAT(tokenizer->prefix(), IsEmpty());

  // What tokenizer_config.json lists comes in the older files' place.
  directory_.Write("tokenizer_config.json",
                   R"({"added_tokens_decoder": {"259": {"content": "flu", "lstrip": true}},
                       "bos_token": "<|endoftext|>", "add_bos_token": true,
                       "tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": true})");
  SUBMIX_ASSERT_OK_AND_ASSIGN(tokenizer, Load());
  EXPECT_EQ(tokenizer->vocab_size(), 260);
  EXPECT_EQ(tokenizer->end_of_text(), 258);
  EXPECT_THAT(tokenizer->prefix(), ElementsAre(258));
  EXPECT_THAT(tokenizer->Encode("flu").value(), ElementsAre(259));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("a flu").value()), " aflu");
}

TEST_F(TokenizerLoadTest, RefusesFilesBesideThatDoNotFit) {
  const auto is_refused = [this](const char* name, const char* content, const char* reason) {
    directory_.Write(name, content);
    EXPECT_THAT(Load(),
                StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(name), HasSubstr(reason))))
        << content;
    directory_.Write(name, "{}");
  };
  is_refused("added_tokens.json", R"({"covid": 260})", "gives it 259");
  is_refused("added_tokens.json", R"({"ab": 259})", "gives it 256");
  is_refused("added_tokens.json", R"({"covid": 259, "flu": 259})", "another entry's");
  is_refused("added_tokens.json", R"({"covid": "259"})", "covid");
  is_refused("tokenizer_config.json", R"({"eos_token": "nowhere"})", "eos_token");
  is_refused("special_tokens_map.json", R"({"eos_token": 3})", "eos_token");
  is_refused("tokenizer_config.json", R"({"add_bos_token": true, "bos_token": "nowhere"})",
             "bos_token");
  is_refused("tokenizer_config.json", R"({"add_bos_token": 1})", "add_bos_token");
  is_refused("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "a"}}})",
             "expected an id");
  is_refused("tokenizer_config.json", R"({"added_tokens_decoder": {"270": {"content": "flu"}}})",
             "added_tokens_decoder.270");
  is_refused("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})",
             "save_pretrained");
}

TEST_F(TokenizerLoadTest, RefusesMergesOfUnknownTokensByLine) {
  const auto is_refused_in_line = [](const std::string& line, const std::string& reason) {
    return StatusIs(StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("merges.txt:" + line), HasSubstr(reason)));
  };
  merges_ = "#version: 0.2\na b\nxy z\n";
  EXPECT_THAT(Load(), is_refused_in_line("3", "\"xy\""));
  merges_ = "a xy\n";
  EXPECT_THAT(Load(), is_refused_in_line("1", "\"xy\""));
  merges_ = "a b\nb c\n";
  EXPECT_THAT(Load(), is_refused_in_line("2", "\"bc\""));
  merges_ = "ab\n";
  EXPECT_THAT(Load(), is_refused_in_line("1", "one space"));
  merges_ = "a b c\n";
  EXPECT_THAT(Load(), is_refused_in_line("1", "one space"));
  merges_ = "a b\nab c\na b\n";
  EXPECT_THAT(Load(), is_refused_in_line("3", "twice"));
}

TEST_F(TokenizerLoadTest, MakesNoEndOfTextByAMerge) {
  vocabulary_["<|endoftext"] = 259;
  vocabulary_["|>"] = 260;
  merges_ = "| >\n<|endoftext |>\n";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load());
  EXPECT_THAT(tokenizer->Encode("<|endoftext|>").value(), ::testing::Not(::testing::Contains(258)));
}

}  // namespace tokenizer_test
}  // namespace submix::tokenizer

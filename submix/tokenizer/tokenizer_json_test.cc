// What tokenizer.json may not say, and how it is refused: in a line that names file and field.
#include <fstream>
#include <functional>

#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::tokenizer {
namespace tokenizer_json_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TokenizerJsonTest : public ::testing::Test {
 protected:
  // A file of testdata/tokenizer/families.
  static json Family(const std::string& name) {
    std::ifstream file(SUBMIX_TESTDATA_DIR "/tokenizer/families/" + name + "/tokenizer.json");
    return json::parse(file);
  }

  base::StatusOr<std::unique_ptr<Tokenizer>> LoadText(const std::string& text) {
    directory_.Write("tokenizer.json", text);
    return Tokenizer::Load(directory_.path());
  }
  base::StatusOr<std::unique_ptr<Tokenizer>> Load(const json& file) {
    return LoadText(file.dump());
  }

  // Refused with the field's name and `problem`, after `value` was put where `pointer` says.
  void ExpectRefused(const std::string& family, const std::string& pointer, const json& value,
                     const std::string& field, const std::string& problem = "") {
    json file = Family(family);
    file[json::json_pointer(pointer)] = value;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("tokenizer.json"),
                                           HasSubstr("\"" + field + "\""), HasSubstr(problem))))
        << pointer << " " << value;
  }

  base::TemporaryDirectory directory_;
};

TEST_F(TokenizerJsonTest, RefusesOtherModelsAndTheirOptions) {
  for (const char* type : {"Unigram", "WordPiece", "WordLevel"}) {
    ExpectRefused("llama3", "/model/type", type, "model.type", type);
  }
  ExpectRefused("llama3", "/model/dropout", 0.1, "model.dropout");
  ExpectRefused("llama3", "/model/continuing_subword_prefix", "##",
                "model.continuing_subword_prefix");
  ExpectRefused("llama3", "/model/end_of_word_suffix", "</w>", "model.end_of_word_suffix");
  ExpectRefused("llama3", "/model/temperature", 1, "model.temperature", "not known");
  ExpectRefused("llama3", "/model/ignore_merges", "yes", "model.ignore_merges");
  ExpectRefused("llama2", "/model/ignore_merges", true, "model.ignore_merges");
  ExpectRefused("llama2", "/model/byte_fallback", false, "model.byte_fallback");
  ExpectRefused("llama2", "/decoder/decoders/1/type", "Fuse", "decoder.decoders[2].type");
  ExpectRefused("llama3", "/surprise", 1, "surprise", "not known");
}

TEST_F(TokenizerJsonTest, RefusesOtherNormalizers) {
  for (const char* type : {"Lowercase", "NFKC", "NFD", "StripAccents", "Precompiled", "Strip"}) {
    ExpectRefused("llama3", "/normalizer", {{"type", type}}, "normalizer.type", type);
  }
  ExpectRefused("gemma3", "/normalizer/pattern", {{"Regex", " "}}, "normalizer.pattern.Regex");
  ExpectRefused("gemma3", "/normalizer/pattern", {{"String", ""}}, "normalizer.pattern.String");
  ExpectRefused("gemma3", "/normalizer/options", 1, "normalizer.options");
  ExpectRefused("llama2", "/normalizer/normalizers/0/type", "Nmt",
                "normalizer.normalizers[0].type");
}

TEST_F(TokenizerJsonTest, RefusesOtherPreTokenizers) {
  for (const char* type : {"Whitespace", "WhitespaceSplit", "Punctuation", "BertPreTokenizer"}) {
    ExpectRefused("llama2", "/pre_tokenizer", {{"type", type}}, "pre_tokenizer.type", type);
  }
  const std::string split = "/pre_tokenizer/pretokenizers/0";
  const std::string field = "pre_tokenizer.pretokenizers[0].";
  ExpectRefused("llama3", split + "/behavior", "Doubled", field + "behavior");
  ExpectRefused("llama3", split + "/invert", 1, field + "invert");
  ExpectRefused("llama3", split + "/pattern", {{"Regex", "[b-a]"}}, field + "pattern.Regex",
                "does not compile");
  ExpectRefused("llama3", split + "/pattern", {{"Regex", "(a+)+b"}}, field + "pattern.Regex");
  ExpectRefused("llama3", split + "/pattern", {{"String", ""}}, field + "pattern.String");
  ExpectRefused("llama3", split, {{"type", "ByteLevel"}, {"add_prefix_space", false}},
                "pre_tokenizer.pretokenizers[1].type", "nothing may follow");
  ExpectRefused("llama3", "/pre_tokenizer/pretokenizers/1/add_prefix_space", true,
                "pre_tokenizer.pretokenizers[1].type");
  ExpectRefused("mistral", "/pre_tokenizer/prepend_scheme", "last", "pre_tokenizer.prepend_scheme");
  ExpectRefused("mistral", "/pre_tokenizer/add_prefix_space", false,
                "pre_tokenizer.prepend_scheme");
}

TEST_F(TokenizerJsonTest, RefusesOtherDecodersAndPostProcessors) {
  ExpectRefused("llama3", "/decoder", nullptr, "decoder");
  ExpectRefused("llama3", "/decoder", {{"type", "WordPiece"}}, "decoder.type", "WordPiece");
  ExpectRefused("llama3", "/decoder", {{"type", "Fuse"}}, "decoder", "ByteLevel");
  ExpectRefused("llama2", "/decoder", {{"type", "ByteLevel"}}, "decoder", "ByteLevel");
  ExpectRefused("llama2", "/decoder/decoders/3/stop", 1, "decoder.decoders[3].stop");
  ExpectRefused("llama2", "/decoder/decoders/3/content", "x", "decoder.decoders[3].content");
  ExpectRefused("llama2", "/decoder/decoders/0", {{"type", "Strip"}}, "decoder.decoders[0].type",
                "in this place");
  ExpectRefused("llama2", "/post_processor", {{"type", "RobertaProcessing"}},
                "post_processor.type");
  ExpectRefused("llama2", "/post_processor/special_tokens/<s>/ids", {100000},
                "post_processor.special_tokens.<s>.ids");
  ExpectRefused("llama2", "/post_processor/special_tokens", json::object(),
                "post_processor.special_tokens.<s>");
  ExpectRefused("llama2", "/post_processor/single", json::array(), "post_processor.single");
}

TEST_F(TokenizerJsonTest, RefusesIdsThatAreNotDense) {
  const json file = Family("llama3");
  const int size = static_cast<int>(file["model"]["vocab"].size());
  for (const json& id : {json(-1), json(1), json(size + 3), json(1 << 30), json(INT64_MIN)}) {
    ExpectRefused("llama3", "/model/vocab/!", id, "model.vocab");
  }
  for (const json& id : {json("1"), json(1.5), json(nullptr)}) {
    ExpectRefused("llama3", "/model/vocab/!", id, "model.vocab", "integer");
  }
  ExpectRefused("llama3", "/added_tokens/0/id", size + 5, "added_tokens[0].id");
  ExpectRefused("llama3", "/added_tokens/0/id", size + 1, "added_tokens[1].id");
  ExpectRefused("llama3", "/added_tokens/0/id", 5, "added_tokens[0].id", "another entry's");
  ExpectRefused("llama3", "/added_tokens/0/content", "a", "added_tokens[0].id", "another entry's");
  ExpectRefused("llama3", "/added_tokens/0/content", "<|eot_id|>", "added_tokens[2].id");
  ExpectRefused("llama3", "/added_tokens/0/content", "", "added_tokens[0].content");
  json hole = Family("gemma3");  // some of whose entries are added tokens, too
  const json merge = hole["model"]["merges"].back();
  hole["model"]["vocab"].erase(merge[0].get<std::string>() + merge[1].get<std::string>());
  EXPECT_THAT(Load(hole), StatusIs(StatusCode::kInvalidArgument, HasSubstr("no entry has the id")));
}

TEST_F(TokenizerJsonTest, RefusesEntriesThatAreNotText) {
  for (const std::string family : {"llama3", "llama2"}) {
    json file = Family(family);
    json& vocabulary = file["model"]["vocab"];
    const std::string byte = family == "llama3" ? "Ġ" : "<0x20>";
    const json id = vocabulary.at(byte);
    vocabulary.erase(byte);
    vocabulary["zzz"] = id;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte 32")));
    vocabulary.erase("zzz");
    vocabulary[std::string(5000, 'z')] = id;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4096 bytes")));
    vocabulary.erase(std::string(5000, 'z'));
    vocabulary[""] = id;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4096 bytes")));
  }
  json file = Family("llama3");
  file["model"]["vocab"]["你"] = file["model"]["vocab"]["th"];
  file["model"]["vocab"].erase("th");
  EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte alphabet")));
}

// They say how a batch is cut and filled, not what a text becomes.
TEST_F(TokenizerJsonTest, IgnoresTruncationAndPadding) {
  json file = Family("llama3");
  file["truncation"] = {{"direction", "Right"}, {"max_length", 5}, {"stride", 0}};
  file["padding"] = {{"strategy", "BatchLongest"}, {"pad_id", 0}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto expected, Load(Family("llama3")));
  const std::string text = "a text of more than five tokens";
  EXPECT_EQ(tokenizer->Encode(text), expected->Encode(text));
}

TEST_F(TokenizerJsonTest, RefusesMergesByTheirNumber) {
  ExpectRefused("llama3", "/model/merges/3", "xyz zyx", "model.merges", "number 3");
  ExpectRefused("llama3", "/model/merges/3", "a b c", "model.merges", "number 3");
  ExpectRefused("llama3", "/model/merges/3", "a", "model.merges", "number 3");
  ExpectRefused("qwen3", "/model/merges/3", {"a"}, "model.merges", "number 3");
  ExpectRefused("qwen3", "/model/merges/3", {"a", 1}, "model.merges", "number 3");
  ExpectRefused("qwen3", "/model/merges/3", Family("qwen3")["model"]["merges"][2], "model.merges",
                "twice");
  ExpectRefused("llama3", "/model/merges", "a b", "model.merges", "list");
  ExpectRefused("llama3", "/model/vocab", json::array(), "model.vocab");
  json file = Family("llama2");
  file["model"]["vocab"]["<0x41><0x42>"] = file["model"]["vocab"].size();
  file["model"]["merges"].push_back("<0x41> <0x42>");
  EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("a byte's entry")));
  file["model"].erase("merges");
  EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("model.merges")));
}

TEST_F(TokenizerJsonTest, MakesNoMarkerByAMerge) {
  json file = Family("llama2");
  json& vocabulary = file["model"]["vocab"];
  for (const char* piece : {"<", ">", "s>"}) {
    if (!vocabulary.contains(piece)) vocabulary[piece] = vocabulary.size();
  }
  file["model"]["merges"].push_back("s >");
  file["model"]["merges"].push_back("< s>");
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  const std::vector<TokenId> tokens = tokenizer->Encode("<s>");
  EXPECT_THAT(tokens, ::testing::Not(::testing::Contains(tokenizer->special_token("<s>"))));
  EXPECT_THAT(tokens, ::testing::Contains(vocabulary.at("s>").get<TokenId>()));
  EXPECT_EQ(tokenizer->Decode(tokens), "<s>");
}

TEST_F(TokenizerJsonTest, RefusesWhatIsNoJson) {
  for (const char* text : {"", "{", "[]", "1", "{\"model\": {\"vocab\": {\"a\": 0}}", "{}\xff"}) {
    EXPECT_THAT(LoadText(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokenizer.json")))
        << text;
  }
  const std::string whole = Family("llama3").dump();
  EXPECT_THAT(LoadText(whole + std::string(1, '\0')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("")));
  EXPECT_THAT(LoadText("{\"version\": null," + whole.substr(1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key")));
  std::string twice = whole;
  twice.replace(twice.find("\"vocab\":"), 8, "\"vocab\":{},\"vocab\":");
  EXPECT_THAT(LoadText(twice), StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key")));
  json deep = {{"type", "NFC"}};
  for (int level = 0; level < 500; ++level) {
    deep = {{"type", "Sequence"}, {"normalizers", json::array({deep})}};
  }
  json file = Family("llama3");
  file["normalizer"] = deep;
  EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("deep")));
}

TEST_F(TokenizerJsonTest, TakesTheEndOfTextFromItsConfiguration) {
  const json file = Family("llama3");
  const auto end_of_text = [&](const std::string& config) -> std::string {
    directory_.Write("tokenizer_config.json", config);
    const auto tokenizer = Load(file);
    if (!tokenizer.ok()) return tokenizer.status().message();
    for (const json& token : file["added_tokens"]) {
      if (token["id"] == (*tokenizer)->end_of_text()) return token["content"];
    }
    return "none";
  };
  EXPECT_EQ(end_of_text("{}"), "<|end_of_text|>");
  EXPECT_EQ(end_of_text(R"({"eos_token": null})"), "<|end_of_text|>");
  EXPECT_EQ(end_of_text(R"({"eos_token": "<|eot_id|>"})"), "<|eot_id|>");
  EXPECT_EQ(end_of_text(R"({"eos_token": {"content": "<|eot_id|>"}})"), "<|eot_id|>");
  EXPECT_THAT(end_of_text(R"({"eos_token": "the"})"),
              AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("\"eos_token\"")));
  EXPECT_THAT(end_of_text("{"), HasSubstr("tokenizer_config.json"));
  json nameless = file;
  nameless["added_tokens"][1]["content"] = "<|other|>";
  directory_.Write("tokenizer_config.json", "{}");
  EXPECT_THAT(Load(nameless), StatusIs(StatusCode::kInvalidArgument, HasSubstr("eos_token")));
}

TEST_F(TokenizerJsonTest, PutsASpaceBeforeTheTextWhereTheFileSays) {
  json file = Family("smollm2");
  file["pre_tokenizer"] = file["pre_tokenizer"]["pretokenizers"][1];
  file["pre_tokenizer"]["add_prefix_space"] = true;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("the")), " the");
  EXPECT_EQ(tokenizer->Encode("the"), tokenizer->Encode(" the"));
  EXPECT_THAT(tokenizer->Encode(""), ElementsAre());
}

TEST_F(TokenizerJsonTest, ComesBeforeTheOlderFiles) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto names,
                              Tokenizer::FileNames(SUBMIX_DATA_DIR "/public_model"));
  EXPECT_THAT(names, ElementsAre("vocab.json", "merges.txt"));
  EXPECT_THAT(Tokenizer::FileNames(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("vocab.json")));
  directory_.Write("vocab.json", "{}");
  directory_.Write("tokenizer.json", "{}");
  EXPECT_THAT(*Tokenizer::FileNames(directory_.path()), ElementsAre("tokenizer.json"));
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokenizer.json")));
  directory_.Write("tokenizer_config.json", "{}");
  EXPECT_THAT(*Tokenizer::FileNames(directory_.path()),
              ElementsAre("tokenizer.json", "tokenizer_config.json"));
  directory_.Write("generation_config.json", "{}");
  directory_.Write("chat_template.jinja", "");
  EXPECT_THAT(*Tokenizer::FileNames(directory_.path()),
              ElementsAre("tokenizer.json", "tokenizer_config.json", "chat_template.jinja",
                          "generation_config.json"));
}

}  // namespace tokenizer_json_test
}  // namespace submix::tokenizer

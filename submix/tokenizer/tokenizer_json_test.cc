// What tokenizer.json may not say, and how it is refused: in a line that names file and field.
#include <cstdint>
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
using ::testing::Not;

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

TEST_F(TokenizerJsonTest, RefusesNormalizersThatMultiplyText) {
  const json twice = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}};
  ExpectRefused("llama3", "/normalizer",
                {{"type", "Sequence"}, {"normalizers", json::array_t(40, twice)}}, "normalizer",
                "64 times");
  const json more = {
      {"type", "Metaspace"}, {"replacement", "  "}, {"prepend_scheme", "never"}, {"split", false}};
  ExpectRefused("mistral", "/pre_tokenizer",
                {{"type", "Sequence"}, {"pretokenizers", json::array_t(40, more)}}, "pre_tokenizer",
                "64 times");
}

// Never tokens that another budget would have cut otherwise, nor the text in the message.
TEST_F(TokenizerJsonTest, ATextThatItsPatternGoesBackTooOftenOnIsAnError) {
  json file = Family("llama3");
  file["pre_tokenizer"]["pretokenizers"][0]["pattern"] = {
      {"Regex", R"(\p{L}*\p{L}*\p{N}|\p{L}| )"}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("some words 1").value()), "some words 1");
  const std::string text(3'000, 'b');
  const auto refused =
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("budget"), HasSubstr("tokenizer.json"),
                                                   Not(HasSubstr("bbb")), Not(HasSubstr("\n"))));
  EXPECT_THAT(tokenizer->Encode(text), refused);
  EXPECT_THAT(tokenizer->EncodePrompt("words, " + text + " and others"), refused);
  EXPECT_THAT(tokenizer->EncodeTemplated(text, std::vector<bool>(text.size(), true), {}), refused);
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
  json hole = Family("gemma3");  // some of whose entries are added tokens, too
  const json merge = hole["model"]["merges"].back();
  hole["model"]["vocab"].erase(merge[0].get<std::string>() + merge[1].get<std::string>());
  EXPECT_THAT(Load(hole), StatusIs(StatusCode::kInvalidArgument, HasSubstr("gives it")));
}

// The library gives an added token the id of its text, or else the next one; the file's own is for
// show.
TEST_F(TokenizerJsonTest, RefusesAddedTokensWithAnIdThatTheLibraryDoesNotGive) {
  const json file = Family("llama3");
  const int size = static_cast<int>(file["model"]["vocab"].size());
  const std::string field = "added_tokens[0]";
  for (const int id : {size + 5, size + 1, 5}) {
    ExpectRefused("llama3", "/added_tokens/0/id", id, field + ".content",
                  "gives it " + std::to_string(size));
  }
  ExpectRefused("llama3", "/added_tokens/0/id", -1, field + ".id");
  ExpectRefused("llama3", "/added_tokens/0/content", "a", field + ".content", "has already");
  ExpectRefused("llama3", "/added_tokens/0/content", "<|eot_id|>", "added_tokens[2].content");
  ExpectRefused("llama3", "/added_tokens/0/surprise", 1, "added_tokens[0].surprise");
  json twice = file;
  twice["added_tokens"].push_back(twice["added_tokens"][0]);
  SUBMIX_EXPECT_OK(Load(twice));
  twice["added_tokens"][3]["lstrip"] = true;
  EXPECT_THAT(Load(twice), StatusIs(StatusCode::kInvalidArgument, HasSubstr("other flags")));
  // Nothing to match is no token.
  json nothing = file;
  json empty = nothing["added_tokens"][0];
  empty["content"] = "";
  nothing["added_tokens"].push_back(empty);
  SUBMIX_EXPECT_OK(Load(nothing));
}

TEST_F(TokenizerJsonTest, RefusesEntriesThatAreNotText) {
  for (const std::string family : {"llama3", "llama2"}) {
    json file = Family(family);
    json& vocabulary = file["model"]["vocab"];
    const std::string byte = family == "llama3" ? "Ġ" : "<0x20>";
    const json id = vocabulary.at(byte);
    vocabulary.erase(byte);
    vocabulary[std::string(5000, 'z')] = id;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4096 bytes")));
    vocabulary.erase(std::string(5000, 'z'));
    vocabulary[""] = id;
    EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("4096 bytes")));
  }
}

// Of the bytes, Gemma 2's file spells 9 as itself; SmolLM2's has none for some that text may hold.
TEST_F(TokenizerJsonTest, SpellsTextOfWhichBytesHaveNoEntry) {
  json gemma = Family("gemma3");
  const TokenId tab = gemma["model"]["vocab"].at("<0x09>");
  gemma["model"]["vocab"].erase("<0x09>");
  gemma["model"]["vocab"]["\t"] = tab;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto gemma2, Load(gemma));
  EXPECT_THAT(gemma2->Encode("\t").value(), ElementsAre(tab));
  EXPECT_EQ(gemma2->Decode(gemma2->Encode("a\tb\xff").value()), "a\tb\xff");

  json file = Family("llama3");
  json& vocabulary = file["model"]["vocab"];
  int rename = 0;
  for (const char* spelling : {"\u00ff", "\u00c0", "\u0104", "\u00c3"}) {  // ff, c0, 04, c3
    const json id = vocabulary.at(spelling);
    vocabulary.erase(spelling);
    vocabulary["zzz" + std::to_string(rename++)] = id;
  }
  json& merges = file["model"]["merges"];
  std::erase_if(merges.get_ref<json::array_t&>(), [](const json& merge) {
    return merge.get<std::string>().find("\u00c3") != std::string::npos;
  });
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto smollm2, Load(file));
  EXPECT_EQ(smollm2->Decode(smollm2->Encode("a\x04\xff\xc0\xfe é ok").value()),
            "a\ufffd\ufffd\ufffd\xfe \ufffd ok");
  EXPECT_EQ(smollm2->Encode("\xff").value(), smollm2->Encode("\ufffd").value());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto llama3, Load(Family("llama3")));
  EXPECT_GT(smollm2->longest_token_bytes(), llama3->longest_token_bytes());

  vocabulary["zzz9"] = vocabulary.at("\u00ef");
  vocabulary.erase("\u00ef");
  EXPECT_THAT(Load(file), StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte 239")));
}

// An entry that the byte alphabet does not spell comes of no text.
TEST_F(TokenizerJsonTest, ReadsEntriesThatNoTextBecomes) {
  json file = Family("llama3");
  const TokenId id = static_cast<TokenId>(file["model"]["vocab"].size());
  file["model"]["vocab"]["你"] = id;
  for (json& token : file["added_tokens"]) token["id"] = token["id"].get<TokenId>() + 1;
  file["post_processor"] = nullptr;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  EXPECT_THAT(tokenizer->Encode("你").value(), ::testing::Not(::testing::Contains(id)));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{id}), "你");
}

// They say how a batch is cut and filled, not what a text becomes.
TEST_F(TokenizerJsonTest, IgnoresTruncationAndPadding) {
  json file = Family("llama3");
  file["truncation"] = {{"direction", "Right"}, {"max_length", 5}, {"stride", 0}};
  file["padding"] = {{"strategy", "BatchLongest"}, {"pad_id", 0}};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto tokenizer, Load(file));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto expected, Load(Family("llama3")));
  const std::string text = "a text of more than five tokens";
  EXPECT_EQ(tokenizer->Encode(text).value(), expected->Encode(text).value());
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
  const std::vector<TokenId> tokens = tokenizer->Encode("<s>").value();
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
  for (const char* unknown : {"nowhere", "a"}) {
    EXPECT_THAT(end_of_text(json({{"eos_token", unknown}}).dump()),
                AllOf(HasSubstr("tokenizer_config.json"), HasSubstr("\"eos_token\"")));
  }
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
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode("the").value()), " the");
  EXPECT_EQ(tokenizer->Encode("the").value(), tokenizer->Encode(" the").value());
  EXPECT_THAT(tokenizer->Encode("").value(), ElementsAre());
}

TEST_F(TokenizerJsonTest, ComesBeforeTheOlderFiles) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto names,
                              Tokenizer::FileNames(SUBMIX_DATA_DIR "/public_model"));
  EXPECT_THAT(names, ElementsAre("vocab.json", "merges.txt"));
  EXPECT_THAT(Tokenizer::FileNames(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("tokenizer.json: missing")));
  directory_.Write("tokenizer.model", "");
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kNotFound,
                       AllOf(HasSubstr("tokenizer.model alone"), HasSubstr("save_pretrained"))));
  directory_.Write("vocab.json", "{}");
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("merges.txt: missing")));
  directory_.Write("tokenizer.json", "{}");
  EXPECT_THAT(*Tokenizer::FileNames(directory_.path()), ElementsAre("tokenizer.json"));
  EXPECT_THAT(Tokenizer::Load(directory_.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokenizer.json")));
  for (const char* name : {"tokenizer_config.json", "generation_config.json", "added_tokens.json",
                           "special_tokens_map.json"}) {
    directory_.Write(name, "{}");
  }
  directory_.Write("chat_template.jinja", "");
  EXPECT_THAT(*Tokenizer::FileNames(directory_.path()),
              ElementsAre("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                          "added_tokens.json", "chat_template.jinja", "generation_config.json"));
}

// A spreadsheet's or an editor's mark, and a file that was cloned without its content.
TEST_F(TokenizerJsonTest, NamesWhatIsNotTheFile) {
  const std::string mark = "\xef\xbb\xbf";
  EXPECT_THAT(LoadText(mark + Family("llama3").dump()),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tokenizer.json"), HasSubstr("byte-order mark"))));
  EXPECT_THAT(LoadText("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("tokenizer.json"), HasSubstr("git-lfs"))));
  for (const std::string name :
       {"added_tokens.json", "special_tokens_map.json", "tokenizer_config.json"}) {
    directory_.Write(name, mark + "{}");
    EXPECT_THAT(Load(Family("llama3")),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(name), HasSubstr("byte-order mark"))));
    directory_.Write(name, "{}");
  }
}

}  // namespace tokenizer_json_test
}  // namespace submix::tokenizer

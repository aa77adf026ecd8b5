#include "submix/base/json_object.h"

#include <string>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::base {
namespace json_object_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

JsonObject Parsed(const std::string& text) {
  base::StatusOr<JsonObject> json = JsonObject::Parse(text, "file.json");
  EXPECT_THAT(json, base::IsOk());
  return *json;
}

TEST(JsonObjectTest, ReadsEveryType) {
  const JsonObject json = Parsed(R"({"i": -3, "x": 0.5, "b": true, "t": "ü", "is": [1, 2],
      "ts": ["a"], "m": {"k": "v"}, "o": {"i": 7}, "os": [{"i": 8}]})");
  EXPECT_EQ(*json.Int("i", -3, 0), -3);
  EXPECT_EQ(*json.Number("x"), 0.5);
  EXPECT_EQ(*json.Number("i"), -3);
  EXPECT_TRUE(*json.Boolean("b"));
  EXPECT_EQ(*json.Text("t"), "ü");
  EXPECT_THAT(*json.Integers("is", 0, 2), ElementsAre(1, 2));
  EXPECT_THAT(*json.Texts("ts"), ElementsAre("a"));
  EXPECT_THAT(*json.TextMap("m"), ElementsAre(Pair("k", "v")));
  EXPECT_EQ(*json.Object("o")->Int("i", 0, 9), 7);
  EXPECT_EQ(*json.Objects("os")->front().Int("i", 0, 9), 8);
}

TEST(JsonObjectTest, WhatIsAbsentLeavesTheDefault) {
  const JsonObject json = Parsed(R"({"x": 2, "t": "a", "none": null})");
  double number = 1;
  std::string text = "before";
  bool flag = true;
  SUBMIX_EXPECT_OK(json.ReadIfPresent("x", number));
  SUBMIX_EXPECT_OK(json.ReadIfPresent("none", text));
  SUBMIX_EXPECT_OK(json.ReadIfPresent("missing", flag));
  EXPECT_EQ(number, 2);
  EXPECT_EQ(text, "before");
  EXPECT_TRUE(flag);
  EXPECT_THAT(json.ReadIfPresent("t", flag),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("t")));
}

TEST(JsonObjectTest, WhatMessagesQuoteIsPrintable) {
  EXPECT_EQ(Printable("a \x1b[2J~\x7f\n\xd2\xc3\xbc"),
            "a ?[2J~??"
            "???");
  EXPECT_EQ(Quoted(std::string(101, '\x1b')), '"' + std::string(100, '?') + "…\"");
}

TEST(JsonObjectTest, TextsAreEscaped) {
  EXPECT_EQ(JsonText("a\"b\n\xff"), "\"a\\\"b\\n\xef\xbf\xbd\"");
}

TEST(JsonObjectTest, ChildrenOutliveTheirParent) {
  const JsonObject child = *Parsed(R"({"o": {"t": "kept"}})").Object("o");
  EXPECT_EQ(*child.Text("t"), "kept");
}

TEST(JsonObjectTest, DefaultsStandForWhatIsMissingAndNotForNull) {
  const JsonObject json =
      Parsed(R"({"a": 1, "n": null})").WithDefaults(Parsed(R"({"a": 2, "n": 2, "d": [2.50]})"));
  EXPECT_EQ(json.ValueText("a"), "1");
  EXPECT_EQ(json.ValueText("n"), "null");
  EXPECT_EQ(json.ValueText("d"), "[2.5]");
  EXPECT_EQ(json.ValueText("m"), "");
  EXPECT_TRUE(json.IsNull("n"));
  EXPECT_FALSE(json.IsNull("a") || json.IsNull("m") || json.Has("n"));
  EXPECT_THAT(json.Text("n"), StatusIs(StatusCode::kInvalidArgument,
                                       "file.json: field \"n\": expected a string, found null"));
}

TEST(JsonObjectTest, APointerOfGitLfsIsNamedAsSuch) {
  EXPECT_THAT(JsonObject::Parse("version https://git-lfs.github.com/spec/v1\noid", "file.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("git lfs pull")));
}

TEST(JsonObjectTest, ErrorsNameFileAndField) {
  const JsonObject json = Parsed(R"({"os": [{}, {"i": "x"}]})");
  EXPECT_THAT(json.Objects("os")->at(1).Int("i", 0, 1),
              StatusIs(StatusCode::kInvalidArgument,
                       "file.json: field \"os[1].i\": expected an integer, found string"));
  EXPECT_THAT(json.Text("t"), StatusIs(StatusCode::kInvalidArgument,
                                       "file.json: field \"t\": expected a string, found nothing"));
}

TEST(JsonObjectTest, NumbersThatAreNotIntegersOfTheRangeAreRefused) {
  for (const char* number : {"1.0", "1e0", "1.5", "-1", "11", "9223372036854775808",
                             "18446744073709551615", "18446744073709551616", "\"1\"", "true"}) {
    const JsonObject json =
        Parsed(std::string(R"({"i": )") + number + R"(, "is": [1, )" + number + "]}");
    EXPECT_THAT(json.Integer("i", 0, 10), StatusIs(StatusCode::kInvalidArgument, HasSubstr("i")))
        << number;
    EXPECT_THAT(json.Integers("is", 0, 10), StatusIs(StatusCode::kInvalidArgument, HasSubstr("is")))
        << number;
  }
  EXPECT_EQ(*Parsed(R"({"i": 9223372036854775807})").Integer("i", 0, INT64_MAX), INT64_MAX);
}

TEST(JsonObjectTest, KnowsWhatIsOff) {
  const JsonObject json = Parsed(R"({"a": null, "b": false, "c": 0, "d": "", "e": [], "f": {},
      "g": true, "h": 1, "i": "x", "j": [0], "k": {"x": 0}})");
  for (const char* field : {"missing", "a", "b", "c", "d", "e", "f"}) {
    EXPECT_TRUE(json.IsOff(field)) << field;
  }
  for (const char* field : {"g", "h", "i", "j", "k"}) EXPECT_FALSE(json.IsOff(field)) << field;
  EXPECT_FALSE(json.Has("a"));
  EXPECT_TRUE(json.Has("b"));
}

TEST(JsonObjectTest, WhatIsNotOneObjectIsRefused) {
  const std::string nul_behind("{}\0{}", 5);
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{} {}"),
        std::string("null"), std::string("{\"a\": 1e999}"), std::string("{\"a\": \"\xff\"}"),
        nul_behind}) {
    EXPECT_THAT(JsonObject::Parse(text, "file.json"),
                StatusIs(StatusCode::kInvalidArgument, StartsWith("file.json")))
        << text;
  }
}

TEST(JsonObjectTest, SyntaxErrorsNameTheLine) {
  EXPECT_THAT(JsonObject::Parse("{\n\"a\": 1,\n\"b\" 2}", "file.json"),
              StatusIs(StatusCode::kInvalidArgument, StartsWith("file.json:3:")));
}

TEST(JsonObjectTest, DuplicateKeysAreRefusedAtEveryLevel) {
  for (const char* text : {R"({"a": 1, "a": 1})", R"({"a": {"b": 1, "b": 2}})",
                           R"({"a": [{"b": 1, "b": 2}]})", R"({"\u0061": 1, "a": 2})"}) {
    EXPECT_THAT(JsonObject::Parse(text, "file.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("duplicate key")))
        << text;
  }
  SUBMIX_EXPECT_OK(JsonObject::Parse(R"({"a": {"a": 1}, "b": {"a": 1}})", "file.json"));
}

TEST(JsonObjectTest, DeepNestingIsRefusedHoweverDeep) {
  for (const std::size_t depth : {std::size_t{9}, std::size_t{100'000}}) {
    const std::string text = R"({"a": )" + std::string(depth, '[') + std::string(depth, ']') + "}";
    EXPECT_THAT(JsonObject::Parse(text, "file.json"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested too deeply")));
  }
  const std::string objects = R"({"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}}}}})";
  EXPECT_THAT(JsonObject::Parse(objects, "file.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested too deeply")));
}

TEST(JsonObjectTest, EightLevelsAreRead) {
  const auto nested = [](std::size_t arrays) {
    return R"({"a": )" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
  };
  SUBMIX_EXPECT_OK(JsonObject::Parse(nested(7), "file.json"));
  EXPECT_THAT(JsonObject::Parse(nested(8), "file.json"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("nested too deeply")));
}

TEST(JsonObjectTest, AMissingFileIsNotFound) {
  const base::TemporaryDirectory directory;
  EXPECT_THAT(JsonObject::Load(directory.File("none.json")),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.json")));
}

TEST(JsonObjectTest, QuotedTextIsShortAndPrintable) {
  EXPECT_EQ(Quoted("h.0"), "\"h.0\"");
  EXPECT_EQ(Quoted("a\x1b[31m\n"), "\"a?[31m?\"");
  EXPECT_LT(Quoted(std::string(1000, 'x')).size(), 110u);
}

}  // namespace json_object_test
}  // namespace submix::base

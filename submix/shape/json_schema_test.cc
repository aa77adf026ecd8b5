#include "submix/shape/json_schema.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "submix/base/testing/status_matchers.h"
#include "submix/shape/automaton.h"
#include "submix/shape/json_grammar.h"

namespace submix::shape {
namespace json_schema_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

base::StatusOr<Automaton> CompiledSchema(std::string_view schema) {
  SUBMIX_ASSIGN_OR_RETURN(const Expression expression, ReadJsonSchema(schema));
  return Automaton::Compile(expression);
}

bool Allows(const Automaton& automaton, std::string_view text) {
  int state = automaton.start();
  for (const char c : text) {
    state = automaton.Next(state, static_cast<unsigned char>(c));
    if (state == Automaton::kNone) return false;
  }
  return automaton.accepts(state);
}

struct SchemaCase {
  std::string schema;
  std::vector<std::string> allowed;
  std::vector<std::string> refused;
};

TEST(JsonSchema, AllowsWhatItDescribes) {
  const std::vector<SchemaCase> cases = {
      {R"({"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},
           "required":["name","age"],"additionalProperties":false})",
       {R"({"name":"Jörg \"J\" \\","age":-12})", R"({"name":"","age":0})"},
       {R"({"age":1,"name":"a"})", R"({"name":"a"})", R"({"name":"a","age":1,"x":1})",
        R"({"name":"a","age":1.5})", R"({"name":"a","age":01})", R"({"name": "a","age":1})",
        R"({"name":"a","age":-0})", "{\"name\":\"a\nb\",\"age\":1}"}},
      {R"({"type":"object","properties":{"z":{"type":"null"},"a":{"type":"boolean"}}})",
       {"{}", R"({"z":null})", R"({"a":true})", R"({"z":null,"a":false})"},
       {R"({"a":true,"z":null})", R"({,"a":true})", R"({"z":null,})"}},
      {R"({"type":"array","items":{"type":"number"},"minItems":1,"maxItems":3})",
       {"[1]", "[-0.5,2e10]", "[1,2,3]"},
       {"[]", "[1,2,3,4]", "[1,]", "[.5]", "[1.]", "[+1]", "[1e999]"}},
      {R"({"type":"array","items":{"type":"boolean"}})", {"[]", "[true,true,true,false]"}, {"[1]"}},
      {R"({"type":"string","minLength":2,"maxLength":3})",
       {R"("ab")", R"("äö€")", R"("\n\"\\")"},
       {R"("a")", R"("abcd")", R"("\/a")", R"("\u0041a")"}},
      {R"({"type":"string","pattern":"^[A-Z]{2}\\d+$"})", {R"("AB1")"}, {R"("AB")", R"("xAB1")"}},
      {R"({"type":"string","pattern":"a\"b"})", {R"("xxa\"bx")"}, {R"("a"b")", R"("ab")"}},
      {R"({"type":"string","pattern":"^[\\x00-\\x1f]$"})", {R"("\u0000")", R"("\n")"}, {"\"\n\""}},
      {R"({"enum":["red","green",3,null,{"b":1,"a":[2]}]})",
       {R"("red")", "3", "null", R"({"b":1,"a":[2]})"},
       {R"("blue")", R"({"a":[2],"b":1})"}},
      {R"({"type":"string","enum":["x",1]})", {R"("x")"}, {"1"}},
      {R"({"const":"a\n\u0001"})", {R"("a\n\u0001")"}, {}},
      {R"({"anyOf":[{"type":"integer"},{"type":"null"}]})", {"7", "null"}, {"true"}},
      {R"({"oneOf":[{"const":1},{"const":2}],"title":"t","description":"d"})", {"1", "2"}, {"3"}},
      {R"({"allOf":[{"$ref":"#/$defs/n"}],"$defs":{"n":{"type":"boolean"}}})", {"true"}, {"1"}},
      {R"({"$ref":"#/definitions/p","definitions":{"p":{"properties":{"c":{"$ref":"#/definitions/c"},
           "d":{"$ref":"#/definitions/c"}},"required":["d"]},"c":{"enum":["x"]}}})",
       {R"({"c":"x","d":"x"})", R"({"d":"x"})"},
       {"{}", R"({"c":"x"})"}},
      {R"({"type":["string","null"],"maxLength":1})", {"null", R"("a")"}, {R"("ab")", "1"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})",
       {"{}", R"({"a":1})", R"({"a":1,"b":2})"},
       {R"({"a":"1"})"}},
      {R"({"type":"object"})", {"{}", R"({"a":[{"b":null}],"c":-1.5e3})"}, {"[]", "1"}},
      {R"({"type":"object","additionalProperties":false})", {"{}"}, {R"({"a":1})"}},
      {"true", {"1", "[]", R"("a")"}, {"", "[1", "nul"}},
  };
  for (const SchemaCase& c : cases) {
    const auto automaton = CompiledSchema(c.schema);
    ASSERT_TRUE(automaton.ok()) << c.schema << ": " << automaton.status();
    for (const std::string& text : c.allowed) {
      EXPECT_TRUE(Allows(*automaton, text)) << c.schema << " on " << text;
      EXPECT_TRUE(nlohmann::json::accept(text)) << text;
    }
    for (const std::string& text : c.refused) {
      EXPECT_FALSE(Allows(*automaton, text)) << c.schema << " on " << text;
    }
  }
}

TEST(JsonSchema, RefusesByNameWhatAnAnswerWouldNotHeed) {
  const std::vector<std::pair<std::string, std::string>> refused = {
      {R"({"type":"integer","minimum":0})", "\"minimum\" is not supported"},
      {R"({"type":"string","format":"date"})", "\"format\" is not supported"},
      {R"({"type":"array","uniqueItems":true})", "\"uniqueItems\" is not supported"},
      {R"({"properties":{"a":{"not":{}}}})", "#/properties/a: \"not\""},
      {R"({"type":"string","minItems":1})", "\"minItems\" is not supported"},
      {R"({"anyOf":[{"type":"null"}],"type":"null"})", "beside \"anyOf\""},
      {R"({"allOf":[{"type":"null"},{"type":"null"}]})", "more than one schema"},
      {R"({"type":"string","pattern":"a","maxLength":2})", "beside a length"},
      {R"x({"type":"string","pattern":"(?=a)"})x", "(?:"},
      {R"({"$ref":"#"})", "#/$defs/NAME"},
      {R"({"$ref":"https://example.org/x"})", "#/$defs/NAME"},
      {R"({"$ref":"#/$defs/x"})", "refers to nothing"},
      {R"({"$ref":"#/$defs/x","$defs":{"x":{"items":{"$ref":"#/$defs/x"}}}})", "contains itself"},
      {R"({"type":"text"})", "seven types"},
      {R"({"type":[]})", "empty list"},
      {R"({"enum":[]})", "list of values"},
      {R"({"enum":["a"],"type":"integer"})", "no value"},
      {R"({"properties":{"a":true},"required":["b"]})", "\"required\""},
      {R"({"properties":{"a":true},"additionalProperties":{"type":"null"}})", "must be false"},
      {R"({"type":"string","minLength":-1})", "whole number"},
      {R"({"type":"string","minLength":3,"maxLength":2})", "below"},
      {"[]", "expected an object"},
      {"{", "no JSON"},
      {R"({"type":"null","type":"null"})", "key twice"},
      {std::string(100, '[') + std::string(100, ']'), "nested deeper"},
      {"{\"enum\":[" + std::string(8192, '1') + "0]}", "out of range"},
      {"\"" + std::string(40'000, 'a') + "\"", "bytes"},
  };
  for (const auto& [schema, why] : refused) {
    EXPECT_THAT(ReadJsonSchema(schema), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)))
        << schema.substr(0, 80);
  }
}

TEST(JsonSchema, StaysWithinBoundsWhateverRefersToWhat) {
  // 2^30 copies of the last definition.
  nlohmann::json schema = {{"$ref", "#/$defs/0"}};
  for (int i = 0; i < 30; ++i) {
    const nlohmann::json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
    schema["$defs"][std::to_string(i)] = {{"properties", {{"a", next}, {"b", next}}}};
  }
  schema["$defs"]["30"] = {{"type", "string"}};
  EXPECT_THAT(CompiledSchema(schema.dump()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_THAT(CompiledSchema(R"({"type":"string","minLength":2000000000})"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_TRUE(CompiledSchema(R"({"type":"string","maxLength":1000})").ok());
}

TEST(JsonSchema, AnyObjectIsReadToItsDepth) {
  const auto automaton = Automaton::Compile(AnyJsonObject());
  ASSERT_TRUE(automaton.ok()) << automaton.status();
  EXPECT_TRUE(Allows(*automaton, R"({"a":[[{"b":"c"}]]})"));
  EXPECT_FALSE(Allows(*automaton, R"({"a":[[[{}]]]})"));
  EXPECT_FALSE(Allows(*automaton, "[]"));
}

}  // namespace json_schema_test
}  // namespace submix::shape

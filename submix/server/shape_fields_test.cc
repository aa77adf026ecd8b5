#include "submix/server/shape_fields.h"

#include <array>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace submix::server {
namespace shape_fields_test {

using shape::ShapeKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<std::optional<AskedShape>, ApiError> Reading(const std::string& body) {
  return ReadShape(nlohmann::json::parse(body), body);
}

AskedShape Asked(const std::string& body) {
  const auto read = Reading(body);
  if (const auto* error = std::get_if<ApiError>(&read)) ADD_FAILURE() << error->message;
  return std::holds_alternative<ApiError>(read) ? AskedShape{} : std::get<0>(read).value();
}

TEST(ShapeFields, AreReadByAllTheirNames) {
  for (const auto* field : {R"("guided_choice":["a","b"])",
                            R"("structured_outputs":{"choice":["a","b"],"regex":null})"}) {
    const AskedShape asked = Asked("{" + std::string(field) + "}");
    EXPECT_EQ(asked.request.kind, ShapeKind::kChoice);
    EXPECT_THAT(asked.request.choices, ElementsAre("a", "b"));
  }
  for (const auto* field : {R"("guided_regex":"a+")", R"("structured_outputs":{"regex":"a+"})"}) {
    const AskedShape asked = Asked("{" + std::string(field) + "}");
    EXPECT_EQ(asked.request.kind, ShapeKind::kRegex);
    EXPECT_EQ(asked.request.text, "a+");
  }
  // The order of what was written stays.
  const std::string schema = R"({"properties": {"z": {"enum": ["}", "\"", [1.5e3]]}, "a": true}})";
  for (const std::string& field :
       {"\"guided_json\":" + schema, "\"x\":[{}, \"]\"], \"guided_json\" : " + schema + " ",
        "\"guided_json\":" + nlohmann::json(schema).dump(),
        "\"structured_outputs\":{\"regex\":null,\"json\":" + schema + "}",
        R"("response_format":{"json_schema":{"strict":true,"schema":)" + schema +
            R"(,"name":"schema"},"type":"json_schema"})"}) {
    const AskedShape asked = Asked("{" + field + "}");
    EXPECT_EQ(asked.request.kind, ShapeKind::kJsonSchema) << field;
    EXPECT_EQ(asked.request.text, schema) << field;
  }
  for (const auto* field : {R"("response_format":{"type":"json_object"})",
                            R"("structured_outputs":{"json_object":true})"}) {
    EXPECT_EQ(Asked("{" + std::string(field) + "}").request.kind, ShapeKind::kJsonObject);
  }
  EXPECT_EQ(Asked(R"({"guided_json":{"type":"null"},"guided_regex":""})").param, "guided_json");
}

TEST(ShapeFields, AreRefusedInOneLineThatNamesTheField) {
  const std::pair<std::string, std::string> refused[] = {
      {R"("guided_choice":"a")", "guided_choice"},
      {R"("guided_choice":[1])", "guided_choice"},
      {R"("guided_regex":["a"])", "guided_regex"},
      {R"("guided_json":[{}])", "guided_json"},
      {R"("structured_outputs":["a"])", "structured_outputs"},
      {R"("structured_outputs":{"choice":null})", "structured_outputs"},
      {R"("structured_outputs":{"choice":["a"],"regex":"a"})", "structured_outputs"},
      {R"("structured_outputs":{"grammar":"a"})", "structured_outputs"},
      {R"("structured_outputs":{"json_object":1})", "structured_outputs"},
      {R"("response_format":{"type":"json_schema"})", "response_format"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n"}})", "response_format"},
      {R"("response_format":{"type":"json_schema","json_schema":{"schema":7}})", "response_format"},
      {R"("response_format":{"type":"json_schema","schema":{}})", "response_format"},
      {R"("response_format":{"type":"grammar"})", "response_format"},
      {R"("guided_regex":"a","guided_choice":["a"])", "guided_regex"},
      {R"("guid\u0065d_json":{"type":"null"})", "guided_json"},
  };
  for (const auto& [field, param] : refused) {
    const auto read = Reading("{" + field + "}");
    ASSERT_TRUE(std::holds_alternative<ApiError>(read)) << field;
    const ApiError& error = std::get<ApiError>(read);
    EXPECT_EQ(error.param, param) << field;
    EXPECT_THAT(error.message, HasSubstr(param));
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
}

}  // namespace shape_fields_test
}  // namespace submix::server

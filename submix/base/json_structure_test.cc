#include "submix/base/json_structure.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace submix::base {
namespace json_structure_test {

using namespace std::string_literals;
using ::testing::Optional;

constexpr JsonLimits kLimits{.depth = 3, .values = 6};

TEST(JsonStructureTest, ObjectsAndArraysCountAsDepth) {
  EXPECT_FALSE(ReadJsonStructure(R"([{"a":[]}])", kLimits).is_too_deep);
  EXPECT_TRUE(ReadJsonStructure(R"([{"a":[[]]}])", kLimits).is_too_deep);
  EXPECT_FALSE(ReadJsonStructure("[[],[],[[]]]", kLimits).is_too_deep);
}

TEST(JsonStructureTest, ValuesOfEveryKindCount) {
  EXPECT_FALSE(ReadJsonStructure(R"([1,-1,1.5,"a",true])", kLimits).has_too_many_values);
  for (const char* one_more : {"1", "-1", "1.5", "\"a\"", "true", "null", "[]", "{}"}) {
    const std::string text = R"([1,-1,1.5,"a",true,)" + std::string(one_more) + "]";
    EXPECT_TRUE(ReadJsonStructure(text, kLimits).has_too_many_values) << one_more;
  }
  EXPECT_FALSE(ReadJsonStructure("[1,2,3,4,5,6,7]", {.depth = 3}).has_too_many_values);
}

TEST(JsonStructureTest, AKeyTwiceInOneObjectIsNamed) {
  EXPECT_THAT(ReadJsonStructure(R"({"a":{"b":1},"\u0061":2})", kLimits).duplicate_key,
              Optional("a"s));
  EXPECT_EQ(ReadJsonStructure(R"([{"a":1},{"a":{"a":1}}])", kLimits).duplicate_key, std::nullopt);
}

TEST(JsonStructureTest, ANulByteIsFoundWhereverItStands) {
  EXPECT_THAT(ReadJsonStructure("{}\0"s, kLimits).nul_byte, Optional(2U));
  EXPECT_THAT(ReadJsonStructure("[\"\0\"]"s, kLimits).nul_byte, Optional(2U));
  EXPECT_EQ(ReadJsonStructure(R"(["\u0000"])", kLimits).nul_byte, std::nullopt);
}

}  // namespace json_structure_test
}  // namespace submix::base

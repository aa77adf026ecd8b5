#include "submix/shape/shape.h"

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::shape {
namespace shape_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

std::shared_ptr<const Vocabulary> Bytewise() {
  std::vector<std::string> tokens;
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  return std::make_shared<const Vocabulary>(tokens);
}

TEST(Shapes, CompilesEveryKindAndKeepsIt) {
  Shapes shapes(Bytewise());
  for (const ShapeRequest& request :
       {ShapeRequest{ShapeKind::kRegex, "a+"}, ShapeRequest{ShapeKind::kJsonSchema, "{}"},
        ShapeRequest{ShapeKind::kJsonObject}, ShapeRequest{ShapeKind::kChoice, {}, {"a", "b"}}}) {
    const auto first = shapes.Compile(request);
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_EQ(*shapes.Compile(request), *first);
  }
  const auto ab = shapes.Compile({ShapeKind::kChoice, {}, {"a:1:b"}});
  const auto a_b = shapes.Compile({ShapeKind::kChoice, {}, {"a", "b"}});
  EXPECT_NE((*ab)->name(), (*a_b)->name());
}

TEST(Shapes, RefusesChoicesThatAreNone) {
  Shapes shapes(Bytewise());
  const auto refusal = [&](std::vector<std::string> choices) {
    return shapes.Compile({ShapeKind::kChoice, {}, std::move(choices)}).status();
  };
  EXPECT_THAT(refusal({}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1024")));
  EXPECT_THAT(refusal({"a", ""}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("empty")));
  EXPECT_THAT(refusal({"\xFF"}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(refusal(std::vector<std::string>(1025, "a")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("1 to 1024")));
  EXPECT_THAT(refusal({std::string(20'000, 'a')}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("16384 bytes")));
}

TEST(Shapes, IsReadByManyThreads) {
  Shapes shapes(Bytewise());
  const auto shape = *shapes.Compile({ShapeKind::kJsonObject});
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      int state = shape->start();
      for (const char c : std::string("{\"a\":[1,{\"b\":null}]")) {
        EXPECT_FALSE(shape->Allowed(state, 1000).empty());
        state = shape->Next(state, static_cast<unsigned char>(c));
        EXPECT_TRUE(
            shapes.Compile({ShapeKind::kRegex, std::string(1, c == '[' || c == '{' ? 'x' : c)})
                .ok() ||
            c == ']' || c == '}');
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
}

}  // namespace shape_test
}  // namespace submix::shape

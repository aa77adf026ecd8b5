// A body must not keep a server busy for longer than its length: reading one of a megabyte is as
// much work a byte as reading one of some kilobytes, whatever it holds. Work is counted in calls,
// the JSON library's included, not timed.
#include <numeric>
#include <string>

#include <gtest/gtest.h>

#include "submix/server/openai_request.h"
#include "tests/server/entered_functions.h"

namespace submix::server {
namespace {

// A body of about `bytes` whose metadata is `open`, `item` again and again, `close`; a '#' of the
// item is its number.
struct Shape {
  const char* open;
  const char* item;
  const char* close;
};
constexpr Shape kShapes[] = {
    {"[", "{}", "]"},
    {"[", "[]", "]"},
    {"[", "{\"a\":[{}]}", "]"},
    {"[", "1", "]"},
    {"[", "\"aaaaaaaaaaaaaaaa\"", "]"},
    {"{", "\"key #\":{}", "}"},
    {"[[[{\"a\":[", "{}", "]}]]]"},
};

std::string Body(const Shape& shape, std::size_t bytes) {
  const std::string item = shape.item;
  const std::size_t number = item.find('#');
  std::string body = R"({"model":"m","prompt":"a","metadata":)" + std::string(shape.open);
  for (int i = 0; body.size() < bytes; ++i) {
    if (i > 0) body += ',';
    body += number == std::string::npos
                ? item
                : item.substr(0, number) + std::to_string(i) + item.substr(number + 1);
  }
  return body + shape.close + "}";
}

double CallsAByte(const std::string& body) {
  BeginCountingFunctions();
  const auto parsed = ParseCall(Endpoint::kCompletions, body, {});
  const EnteredFunctions entered = EndCountingFunctions();
  // Accepted, or refused for the number of its values: read in any case.
  if (const auto* error = std::get_if<ApiError>(&parsed)) {
    EXPECT_NE(error->message.find("values"), std::string::npos) << error->message;
  }
  const auto calls =
      std::accumulate(entered.begin(), entered.end(), std::int64_t{0},
                      [](std::int64_t sum, const auto& each) { return sum + each.second; });
  return static_cast<double>(calls) / static_cast<double>(body.size());
}

TEST(RequestWork, IsLinearInTheBody) {
  if (!CountsEnteredFunctions()) GTEST_SKIP() << "calls are counted in gcc's builds";
  for (const Shape& shape : kShapes) {
    const double of_short = CallsAByte(Body(shape, 1 << 13));
    EXPECT_GT(of_short, 1) << shape.item;
    EXPECT_LT(of_short, 200) << shape.item;
    for (const std::size_t bytes : {1 << 16, 1 << 18, 1 << 20}) {
      EXPECT_LT(CallsAByte(Body(shape, bytes)), 1.1 * of_short) << shape.item << ", " << bytes;
    }
  }
}

}  // namespace
}  // namespace submix::server

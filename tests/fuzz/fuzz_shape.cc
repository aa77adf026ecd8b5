#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/shape/shape.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

// Every byte, and a few longer tokens.
std::shared_ptr<const shape::Vocabulary> VocabularyOfBytes() {
  std::vector<std::string> tokens = {"{\"", "\":", "aa", "true", "  ", "\xC3\xA4"};
  for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
  return std::make_shared<const shape::Vocabulary>(tokens);
}

// The text of one way through the shape that `choices` names, within the fewest tokens and a few
// more.
std::string Walk(const shape::TokenAutomaton& shape, std::string_view choices) {
  constexpr int kSpare = 30;
  constexpr int kMost = 2'000;
  std::string text;
  int state = shape.start();
  int left = std::max(1, shape.TokensNeeded(state)) + kSpare;
  if (left > kMost) return "null";  // long, and nothing new
  for (std::size_t i = 0; left > 0 && !shape.IsComplete(state); ++i, --left) {
    const std::vector<base::TokenId> allowed = shape.Allowed(state, left);
    if (allowed.empty() && shape.MayEnd(state)) break;
    SUBMIX_CHECK(!allowed.empty(), "what was begun can be completed");
    const auto choice =
        static_cast<unsigned char>(choices.empty() ? 0 : choices[i % choices.size()]);
    const base::TokenId token = allowed[choice % allowed.size()];
    text += shape.vocabulary()->Bytes(token);
    state = shape.Next(state, token);
    SUBMIX_CHECK(state != shape::Automaton::kNone, "what is allowed leads on");
  }
  SUBMIX_CHECK(shape.MayEnd(state), "an answer ends in its shape");
  return text;
}

}  // namespace

// A regular expression, or a JSON schema if it begins with "{" ==== the tokens to take.
void FuzzShape(std::string_view input) {
  static const auto vocabulary = VocabularyOfBytes();
  shape::Shapes shapes(vocabulary);
  const std::vector<std::string_view> pieces = Pieces(input, 2);
  const bool is_schema = pieces[0].starts_with("{");
  const auto compiled =
      shapes.Compile({is_schema ? shape::ShapeKind::kJsonSchema : shape::ShapeKind::kRegex,
                      std::string(pieces[0])});
  if (!compiled.ok()) {
    SUBMIX_CHECK(compiled.status().code() == base::StatusCode::kInvalidArgument &&
                     compiled.status().message().find('\n') == std::string::npos,
                 "a client is told why, in one line");
    return;
  }
  const std::string text = Walk(**compiled, pieces[1]);
  SUBMIX_CHECK(!is_schema || nlohmann::json::accept(text), "what a schema describes is JSON");
}

}  // namespace submix::fuzz

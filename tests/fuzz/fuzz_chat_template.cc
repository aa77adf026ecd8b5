#include <string>

#include "submix/base/check.h"
#include "submix/chat/chat_template.h"
#include "submix/jinja/rendering.h"
#include "submix/jinja/template.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

using jinja::Origin;
using jinja::Text;
using jinja::Variable;

// No template has these letters, unless it says so or spells them by an escape.
constexpr std::string_view kLetters = "\xd7\x90\xd7\x91\xd7\x92";  // alef, bet, gimel
constexpr char kLead = '\xd7';

Variable Message(const char* role, const std::string& content) {
  return Variable::Dict({{"role", Variable::String({role, Origin::kTemplate})},
                         {"content", Variable::String({content, Origin::kMessage})}});
}

void CheckWhose(const Text& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    SUBMIX_CHECK(text.bytes()[i] != kLead || text.origin(i) == Origin::kMessage,
                 "what a message says stays the message's");
  }
}

void RenderAnyway(std::string_view source, const std::string& words) {
  const auto parsed = jinja::Template::Parse(source);
  if (!parsed.ok()) return;
  const std::string content = " " + std::string(kLetters) + "\n" + words;
  const auto text = parsed->Render(
      {{"messages", Variable::List({Message("system", content), Message("user", content),
                                    Message("assistant", words), Message("user", content)})},
       {"bos_token", Variable::String({"<s>", Origin::kTemplate})},
       {"tools", Variable::None()},
       {"add_generation_prompt", Variable::Boolean(true)}},
      /*now=*/1'733'184'000);
  if (!text.ok()) {
    SUBMIX_CHECK(!text.status().message().empty() || source.find("raise") != source.npos,
                 "an error says why");
    return;
  }
  SUBMIX_CHECK(text->size() <= jinja::kMostWork, "what is written is bounded");
  if (source.find(kLead) == source.npos && source.find('\\') == source.npos) CheckWhose(*text);
}

}  // namespace

// A template ==== what people say. An input that begins with "{" and names a chat template is a
// tokenizer_config.json that has one.
void FuzzChatTemplate(std::string_view input) {
  if (input.starts_with("{\"")) {
    static const FuzzedDirectory directory;
    directory.Put("tokenizer_config.json", input);
    const auto found = chat::LoadChatTemplate(directory.path());
    if (found.ok()) RenderAnyway(found->source, "hello");
    return;
  }
  const std::vector<std::string_view> pieces = Pieces(input, 2);
  RenderAnyway(pieces[0], std::string(pieces[1]));
}

}  // namespace submix::fuzz

// Which template writes a model's conversations: the one in its files, or one of ours by name.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"

namespace submix::chat {

// Writes "User: …", without markers, for any model.
inline constexpr char kPlain[] = "plain";

struct ChatTemplate {
  std::string name;    // for people: a file, or the name of ours
  std::string source;  // Jinja (submix/jinja)
  // bos_token, eos_token and their like, as far as the model's files give them.
  std::vector<std::pair<std::string, std::string>> special_tokens = {};
  std::string needed_marker = {};  // what the tokenizer must have; empty: nothing
  bool is_of_model = false;        // from the model's files
};

// Where Hugging Face's library looks, too: `directory`/chat_template.jinja, chat_template of
// tokenizer_config.json (of several the one named "default"), chat_template.json. Without any,
// "plain". Errors: those of reading; kInvalidArgument if several have no default.
base::StatusOr<ChatTemplate> LoadChatTemplate(const std::string& directory);

// One of ours, with the special tokens of the model in `directory`. Errors: those of reading;
// kInvalidArgument if there is none of that name.
base::StatusOr<ChatTemplate> NamedChatTemplate(const std::string& directory, std::string_view name);

// Their names: "plain", and some families', for models without a template.
std::vector<std::string> ChatTemplateNames();

}  // namespace submix::chat

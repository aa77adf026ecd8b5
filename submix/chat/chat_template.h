// Which chat format a model was trained for, by the template in its files.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::chat {

struct ChatStyle {
  std::string format = "plain";     // a name of chat_format.h
  std::string begin = {};           // the marker that a conversation begins with; empty: none
  std::string default_system = {};  // chatml: of a conversation that has no system message
  std::string date = {};            // llama3.1: of its heading, "26 Jul 2024"; empty: today's
};

// What chat_template of `directory`/tokenizer_config.json is, or the file chat_template.jinja;
// "plain" where there is none. Templates are programs: they are not run, but those of the families
// are recognized by what they write. Errors: those of reading; kInvalidArgument, naming the file,
// for a template that is not known.
base::StatusOr<ChatStyle> RecognizeChatStyle(const std::string& directory);

// The style of a format that was chosen by name, for the model in `directory`. Errors: those of
// reading.
base::StatusOr<ChatStyle> NamedChatStyle(const std::string& directory, const std::string& format);

}  // namespace submix::chat

#include "submix/chat/chat_template.h"

#include <optional>
#include <string_view>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::chat {
namespace {

using base::JsonObject;
using base::StatusOr;

// A template's text with line ends as characters and one kind of quotes.
std::string WithOneSpelling(std::string_view text) {
  std::string spelled;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_line_end = text.substr(i, 2) == "\\n";
    spelled.push_back(is_line_end ? '\n' : text[i] == '"' ? '\'' : text[i]);
    if (is_line_end) ++i;
  }
  return spelled;
}

// The first text between `before` and `after` that is a literal's and not the template's own.
std::string LiteralBetween(std::string_view text, std::string_view before, std::string_view after) {
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string_view::npos;) {
    at += before.size();
    const std::string_view found = text.substr(at, text.find(after, at) - at);
    if (!found.empty() && found.find_first_of("'\\{}") == std::string_view::npos) {
      return std::string(found);
    }
  }
  return "";
}

// Nothing if no known template writes so.
std::optional<ChatStyle> Recognize(std::string_view text) {
  const auto has = [text](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  };
  ChatStyle style;
  if (has("'<|im_start|>assistant\n'") && has("<|im_end|>") && !has("trim")) {
    if (has("reasoning_content") && has("last_query_index")) {
      style.format = "qwen3";
      return style;
    }
    if (has("think") || has("strip(")) return std::nullopt;
    style.format = "chatml";
    style.default_system = LiteralBetween(text, "'<|im_start|>system\n", "<|im_end|>");
    return style;
  }
  if (has("<|end_header_id|>\n\n'") && has("'<|eot_id|>'") && has("trim")) {
    style.format = has("'Cutting Knowledge Date: December 2023\n'") ? "llama3.1" : "llama3";
    if (style.format == "llama3" && has("Knowledge Date")) return std::nullopt;
    if (!has("strftime_now")) style.date = LiteralBetween(text, "date_string = '", "'");
    return style;
  }
  if (has("'<start_of_turn>model\n'") && has("<end_of_turn>\n'") && has("trim")) {
    if (!has("System role not supported") && !has("first_user_prefix")) return std::nullopt;
    style.format = has("first_user_prefix") ? "gemma3" : "gemma2";
    return style;
  }
  if (has("<<SYS>>") || has("SYSTEM_PROMPT")) return std::nullopt;
  if (has("' [INST] ' + message") && has("' [/INST]'")) {
    style.format = "mistral-v1";
    return style;
  }
  if (has("'[INST] ' + message") && has("'[/INST]'") && has("trim")) {
    style.format = "mistral-v3";
    return style;
  }
  return std::nullopt;
}

struct TemplateFiles {
  std::string path;   // where the template stands
  std::string text;   // empty: none
  std::string begin;  // bos_token
};

// chat_template may be a text, or a list of named ones.
StatusOr<std::string> TemplateOf(const JsonObject& config) {
  if (!config.IsList("chat_template")) return config.Text("chat_template");
  SUBMIX_ASSIGN_OR_RETURN(const auto templates, config.Objects("chat_template"));
  for (const JsonObject& each : templates) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string name, each.Text("name"));
    if (name == "default") return each.Text("template");
  }
  return config.FieldError("chat_template", "none is named \"default\"");
}

StatusOr<TemplateFiles> ReadFiles(const std::string& directory) {
  TemplateFiles files;
  const std::string config_path = base::JoinPath(directory, "tokenizer_config.json");
  if (base::FileExists(config_path)) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject config, JsonObject::Load(config_path));
    if (config.IsText("bos_token") || !config.Has("bos_token")) {
      SUBMIX_RETURN_IF_ERROR(config.ReadIfPresent("bos_token", files.begin));
    } else {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, config.Object("bos_token"));
      SUBMIX_ASSIGN_OR_RETURN(files.begin, token.Text("content"));
    }
    if (config.Has("chat_template")) {
      files.path = config_path;
      SUBMIX_ASSIGN_OR_RETURN(files.text, TemplateOf(config));
    }
  }
  const std::string jinja_path = base::JoinPath(directory, "chat_template.jinja");
  if (base::FileExists(jinja_path)) {  // it counts where both are there
    files.path = jinja_path;
    SUBMIX_ASSIGN_OR_RETURN(files.text, base::ReadFile(jinja_path));
  }
  return files;
}

}  // namespace

StatusOr<ChatStyle> RecognizeChatStyle(const std::string& directory) {
  SUBMIX_ASSIGN_OR_RETURN(TemplateFiles files, ReadFiles(directory));
  if (files.text.empty()) return ChatStyle{};
  std::optional<ChatStyle> style = Recognize(WithOneSpelling(files.text));
  if (!style) {
    return base::InvalidArgumentError(files.path +
                                      ": its chat template is none of those that are known; name "
                                      "a format as chat_format in the TOML file's [server], or by "
                                      "--chat-format: \"plain\" serves any model");
  }
  if (files.text.find("bos_token") != std::string::npos) style->begin = std::move(files.begin);
  return *std::move(style);
}

StatusOr<ChatStyle> NamedChatStyle(const std::string& directory, const std::string& format) {
  SUBMIX_ASSIGN_OR_RETURN(TemplateFiles files, ReadFiles(directory));
  return ChatStyle{.format = format, .begin = std::move(files.begin)};
}

}  // namespace submix::chat

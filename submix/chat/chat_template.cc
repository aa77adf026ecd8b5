#include "submix/chat/chat_template.h"

#include <algorithm>
#include <array>
#include <optional>

#include "submix/base/file_system.h"
#include "submix/base/json_object.h"

namespace submix::chat {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

struct OwnTemplate {
  std::string_view name;
  std::string_view needed_marker;
  std::string source;
};

// As the families' publishers write conversations, without tools.
const std::vector<OwnTemplate>& OwnTemplates() {
  const std::string each = "{% for m in messages %}";
  const std::string each_turn = "{% for m in turns %}";
  // `system`, and `turns` that alternate.
  const std::string split_system =
      "{% set has_system = messages[0].role == 'system' %}"
      "{% set system = messages[0].content + '\\n\\n' if has_system else '' %}"
      "{% set turns = messages[1:] if has_system else messages %}"
      "{% if not turns %}{{ raise_exception(\"This model reads a system message as part of the "
      "user's first one: give one.\") }}{% endif %}" +
      each_turn +
      "{% if (m.role == 'user') != (loop.index0 % 2 == 0) or m.role == 'system' %}"
      "{{ raise_exception(\"This model's chats alternate: after an optional system message, user, "
      "assistant, user, and so on.\") }}{% endif %}{% endfor %}";
  const std::string im_turn = "{{ '<|im_start|>' + m.role + '\\n' }}";
  const std::string im_answer = "{{ '<|im_end|>\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";
  const std::string llama_turns =
      each +
      "{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\\n\\n' + m.content | trim + "
      "'<|eot_id|>' }}{% endfor %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}";
  const std::string gemma_turns =
      each_turn +
      "{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' }}"
      "{{ (system if loop.first) ~ m.content | trim + '<end_of_turn>\\n' }}{% endfor %}"
      "{{ '<start_of_turn>model\\n' }}";
  const std::string eos = "{% set eos = eos_token | default('</s>') %}";
  static const std::vector<OwnTemplate> own = {
      {kPlain, "",
       each + "{{ m.role | capitalize + ': ' + m.content + '\\n\\n' }}{% endfor %}Assistant:"},
      {"chatml", "<|im_end|>", "{{ bos_token }}" + each + im_turn + "{{ m.content }}" + im_answer},
      {"qwen3", "<|im_end|>",
       "{{ bos_token }}" + each + im_turn +
           "{{ m.content.split('</think>')[-1].lstrip('\\n') if m.role == 'assistant' else "
           "m.content }}" +
           im_answer},
      {"llama3", "<|eot_id|>", "{{ bos_token }}" + llama_turns},
      {"llama3.1", "<|eot_id|>",
       "{{ bos_token }}{% set has_system = messages[0].role == 'system' %}"
       "{{ '<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December "
       "2023\\n"
       "Today Date: ' + strftime_now('%d %b %Y') + '\\n\\n' }}"
       "{{ (messages[0].content | trim if has_system) ~ '<|eot_id|>' }}"
       "{% set messages = messages[1:] if has_system else messages %}" +
           llama_turns},
      {"gemma2", "<end_of_turn>",
       "{{ bos_token }}{% if messages[0].role == 'system' %}"
       "{{ raise_exception(\"This model's chats have no system messages.\") }}{% endif %}" +
           split_system + gemma_turns},
      {"gemma3", "<end_of_turn>", "{{ bos_token }}" + split_system + gemma_turns},
      {"mistral-v1", "",
       "{{ bos_token }}" + split_system + eos + each_turn +
           "{{ ' ' + m.content + eos if m.role == 'assistant' else "
           "' [INST] ' + (system if loop.first else '') + m.content + ' [/INST]' }}{% endfor %}"},
      {"mistral-v3", "[INST]",
       "{{ bos_token }}" + split_system + eos + each_turn +
           "{{ ' ' + m.content | trim + eos if m.role == 'assistant' else "
           "'[INST] ' + (system if loop.last else '') + m.content + '[/INST]' }}{% endfor %}"}};
  return own;
}

// A text, or {"content": text}.
StatusOr<std::string> TokenText(const JsonObject& config, std::string_view field) {
  if (config.IsText(field)) return config.Text(field);
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, config.Object(field));
  return token.Text("content");
}

// The object in `directory`/`name`; nothing if there is no such file.
StatusOr<std::optional<JsonObject>> LoadIfThere(const std::string& directory,
                                                const std::string& name) {
  const std::string path = base::JoinPath(directory, name);
  if (!base::FileExists(path)) return std::optional<JsonObject>();
  SUBMIX_ASSIGN_OR_RETURN(JsonObject object, JsonObject::Load(path));
  return std::optional<JsonObject>(std::move(object));
}

Status ReadSpecialTokens(const std::string& directory, ChatTemplate& chat_template) {
  constexpr std::array<std::string_view, 7> kTokens = {
      "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};
  SUBMIX_ASSIGN_OR_RETURN(const auto config, LoadIfThere(directory, "tokenizer_config.json"));
  SUBMIX_ASSIGN_OR_RETURN(const auto map, LoadIfThere(directory, "special_tokens_map.json"));
  for (const std::string_view token : kTokens) {
    for (const auto* file : {&config, &map}) {
      if (!file->has_value() || !(*file)->Has(token)) continue;
      SUBMIX_ASSIGN_OR_RETURN(std::string text, TokenText(**file, token));
      chat_template.special_tokens.emplace_back(token, std::move(text));
      break;
    }
  }
  return base::OkStatus();
}

// chat_template may be a text, or a list of named ones.
StatusOr<std::string> SourceOf(const JsonObject& config) {
  if (!config.IsList("chat_template")) return config.Text("chat_template");
  SUBMIX_ASSIGN_OR_RETURN(const auto templates, config.Objects("chat_template"));
  for (const JsonObject& each : templates) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string name, each.Text("name"));
    if (name == "default") return each.Text("template");
  }
  return config.FieldError("chat_template", "none is named \"default\"");
}

}  // namespace

std::vector<std::string> ChatTemplateNames() {
  std::vector<std::string> names;
  for (const OwnTemplate& each : OwnTemplates()) names.emplace_back(each.name);
  return names;
}

StatusOr<ChatTemplate> NamedChatTemplate(const std::string& directory, std::string_view name) {
  const auto found = std::ranges::find(OwnTemplates(), name, &OwnTemplate::name);
  if (found == OwnTemplates().end()) {
    std::string names;
    for (const std::string& each : ChatTemplateNames()) names += (names.empty() ? "" : ", ") + each;
    return base::InvalidArgumentError("there is no chat format " + base::Quoted(name) +
                                      "; there are " + names);
  }
  ChatTemplate chat_template{.name = std::string(name),
                             .source = found->source,
                             .needed_marker = std::string(found->needed_marker)};
  SUBMIX_RETURN_IF_ERROR(ReadSpecialTokens(directory, chat_template));
  return chat_template;
}

StatusOr<ChatTemplate> LoadChatTemplate(const std::string& directory) {
  constexpr char kJinjaFile[] = "chat_template.jinja";
  ChatTemplate chat_template;
  const std::string jinja_path = base::JoinPath(directory, kJinjaFile);
  if (base::FileExists(jinja_path)) {  // it counts where others are there, too
    chat_template.name = kJinjaFile;
    SUBMIX_ASSIGN_OR_RETURN(chat_template.source, base::ReadFile(jinja_path));
  }
  for (const std::string file : {"tokenizer_config.json", "chat_template.json"}) {
    if (!chat_template.source.empty()) break;
    SUBMIX_ASSIGN_OR_RETURN(const auto config, LoadIfThere(directory, file));
    if (!config || !config->Has("chat_template")) continue;
    chat_template.name = file;
    SUBMIX_ASSIGN_OR_RETURN(chat_template.source, SourceOf(*config));
  }
  if (chat_template.source.empty()) return NamedChatTemplate(directory, kPlain);
  chat_template.is_of_model = true;
  SUBMIX_RETURN_IF_ERROR(ReadSpecialTokens(directory, chat_template));
  return chat_template;
}

}  // namespace submix::chat

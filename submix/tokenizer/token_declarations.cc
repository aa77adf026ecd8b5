#include "submix/tokenizer/token_declarations.h"

#include <limits>
#include <map>
#include <utility>

#include "submix/base/file_system.h"
#include "submix/tokenizer/text_pipeline.h"
#include "submix/tokenizer/tokenizer_file.h"

namespace submix::tokenizer {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

constexpr std::int64_t kMostId = std::numeric_limits<base::TokenId>::max();

// "</s>" or {"content": "</s>", …}.
StatusOr<std::string> ContentOf(const JsonObject& config, const std::string& field) {
  if (config.IsText(field)) return config.Text(field);
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, config.Object(field));
  return token.Text("content");
}

class DeclarationsReader {
 public:
  DeclarationsReader(const std::string& directory, const std::set<std::int64_t>& listed)
      : directory_(directory), listed_(listed) {}

  StatusOr<TokenDeclarations> Read() {
    read_.path = Path("tokenizer_config.json");
    bool lists_added_tokens = false;
    if (base::FileExists(read_.path)) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject config, ReadJson(read_.path));
      SUBMIX_RETURN_IF_ERROR(ReadSwitches(config));
      SUBMIX_RETURN_IF_ERROR(ReadNames(config));
      lists_added_tokens = config.Has("added_tokens_decoder");
      if (lists_added_tokens) SUBMIX_RETURN_IF_ERROR(ReadDecoder(config));
    }
    if (!lists_added_tokens) SUBMIX_RETURN_IF_ERROR(ReadOlderFiles());
    read_.end_of_text = roles_["eos_token"];
    read_.beginning = roles_["bos_token"];
    for (const auto& [role, content] : roles_) {
      if (!content.empty()) read_.named.insert(content);
    }
    for (DeclaredToken& each : read_.added) {
      if (!read_.named.contains(each.token.content)) continue;
      each.token.is_special = true;
      if (!lists_added_tokens) each.token.is_normalized = false;
    }
    return std::move(read_);
  }

 private:
  std::string Path(const char* name) const { return base::JoinPath(directory_, name); }

  Status ReadSwitches(const JsonObject& config) {
    SUBMIX_RETURN_IF_ERROR(config.ReadIfPresent("tokenizer_class", read_.tokenizer_class));
    for (const auto& [field, value] : {std::pair("add_bos_token", &read_.adds_beginning),
                                       std::pair("add_prefix_space", &read_.adds_prefix_space)}) {
      if (!config.Has(field)) continue;
      SUBMIX_ASSIGN_OR_RETURN(*value, config.Boolean(field));
    }
    return base::OkStatus();
  }

  // eos_token and every other …_token, and the lists of further ones.
  Status ReadNames(const JsonObject& config) {
    for (const std::string& field : config.fields()) {
      const bool is_name =
          field.ends_with("_token") && !field.starts_with("add_") && config.Has(field);
      if (!is_name) continue;
      SUBMIX_ASSIGN_OR_RETURN(roles_[field], ContentOf(config, field));
    }
    for (const char* field : {"additional_special_tokens", "extra_special_tokens"}) {
      SUBMIX_RETURN_IF_ERROR(ReadNameList(config, field));
    }
    return base::OkStatus();
  }

  // A list of texts or of objects, or an object of texts by role.
  Status ReadNameList(const JsonObject& config, const char* field) {
    if (!config.Has(field)) return base::OkStatus();
    if (!config.IsList(field)) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject by_role, config.Object(field));
      for (const std::string& role : by_role.fields()) {
        SUBMIX_ASSIGN_OR_RETURN(const std::string content, ContentOf(by_role, role));
        read_.named.insert(content);
      }
      return base::OkStatus();
    }
    if (const auto texts = config.Texts(field); texts.ok()) {
      read_.named.insert(texts->begin(), texts->end());
      return base::OkStatus();
    }
    SUBMIX_ASSIGN_OR_RETURN(const auto tokens, config.Objects(field));
    for (const JsonObject& token : tokens) {
      SUBMIX_ASSIGN_OR_RETURN(const std::string content, token.Text("content"));
      read_.named.insert(content);
    }
    return base::OkStatus();
  }

  Status ReadDecoder(const JsonObject& config) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject decoder, config.Object("added_tokens_decoder"));
    std::map<std::int64_t, DeclaredToken> by_id;
    for (const std::string& field : decoder.fields()) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject object, decoder.Object(field));
      const std::optional<std::int64_t> id = IdOf(field);
      if (!id) return decoder.FieldError(field, "expected an id");
      DeclaredToken& declared = by_id[*id];
      SUBMIX_ASSIGN_OR_RETURN(declared.token, ReadAddedToken(object));
      declared.token.id = static_cast<base::TokenId>(*id);
      declared.place = read_.path + ": field \"added_tokens_decoder." + field + "\"";
    }
    for (auto& [id, declared] : by_id) read_.added.push_back(std::move(declared));
    return base::OkStatus();
  }

  static std::optional<std::int64_t> IdOf(const std::string& digits) {
    std::int64_t id = 0;
    if (digits.empty() || digits.size() > 10) return std::nullopt;
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') return std::nullopt;
      id = 10 * id + (digit - '0');
    }
    if (id > kMostId) return std::nullopt;
    return id;
  }

  Status ReadOlderFiles() {
    const std::string names = Path("special_tokens_map.json");
    if (base::FileExists(names)) {
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject map, ReadJson(names));
      SUBMIX_RETURN_IF_ERROR(ReadNames(map));
    }
    const std::string added = Path("added_tokens.json");
    if (!base::FileExists(added)) return base::OkStatus();
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject ids, ReadJson(added));
    std::map<std::int64_t, DeclaredToken> by_id;
    for (const std::string& content : ids.fields()) {
      SUBMIX_ASSIGN_OR_RETURN(const std::int64_t id, ids.Integer(content, 0, kMostId));
      if (listed_.contains(id)) continue;
      DeclaredToken declared;
      declared.token.content = content;
      declared.token.id = static_cast<base::TokenId>(id);
      declared.token.is_normalized = true;
      declared.place = added + ": field " + base::Quoted(content);
      if (by_id.emplace(id, std::move(declared)).second) continue;
      return ids.FieldError(content, "the id is another entry's");
    }
    for (auto& [id, declared] : by_id) read_.added.push_back(std::move(declared));
    return base::OkStatus();
  }

  const std::string& directory_;
  const std::set<std::int64_t>& listed_;
  std::map<std::string, std::string> roles_;
  TokenDeclarations read_;
};

}  // namespace

StatusOr<AddedToken> ReadAddedToken(const JsonObject& object) {
  SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"__type", "id", "content", "single_word", "lstrip",
                                              "rstrip", "normalized", "special"}));
  AddedToken token;
  SUBMIX_ASSIGN_OR_RETURN(token.content, object.Text("content"));
  for (const auto& [field, value] :
       {std::pair("special", &token.is_special), std::pair("single_word", &token.is_single_word),
        std::pair("lstrip", &token.strips_left), std::pair("rstrip", &token.strips_right)}) {
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent(field, *value));
  }
  token.is_normalized = !token.is_special;
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("normalized", token.is_normalized));
  return token;
}

StatusOr<TokenDeclarations> ReadTokenDeclarations(const std::string& directory,
                                                  const std::set<std::int64_t>& listed) {
  return DeclarationsReader(directory, listed).Read();
}

}  // namespace submix::tokenizer

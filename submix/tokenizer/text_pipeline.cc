#include "submix/tokenizer/text_pipeline.h"

#include <algorithm>
#include <utility>

namespace submix::tokenizer {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

class DecoderReader {
 public:
  explicit DecoderReader(DecodingRule& rule) : rule_(rule) {}

  Status Read(const JsonObject& object) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string type, object.Text("type"));
    if (type == "Sequence") {
      SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "decoders"}));
      SUBMIX_ASSIGN_OR_RETURN(const auto parts, object.Objects("decoders"));
      for (const JsonObject& part : parts) SUBMIX_RETURN_IF_ERROR(Read(part));
      return base::OkStatus();
    }
    const bool is_late = type == "Fuse" ? is_fused_ : type == "Strip" ? !is_fused_ : IsBusy(type);
    if (is_late || rule_.is_byte_level) {
      return object.FieldError("type", base::Quoted(type) + " is not supported in this place");
    }
    if (type == "ByteLevel") {
      rule_.is_byte_level = true;
      return CheckFields(object, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    }
    if (type == "Replace") {
      SUBMIX_ASSIGN_OR_RETURN(rule_.replaces.emplace_back(), ReadReplace(object));
      return base::OkStatus();
    }
    if (type == "ByteFallback") {
      rule_.has_byte_fallback = true;
      return CheckFields(object, {"type"});
    }
    if (type == "Fuse") {
      is_fused_ = true;
      return CheckFields(object, {"type"});
    }
    if (type == "Strip") return ReadStrip(object);
    if (type == "Metaspace") return ReadMetaspace(object);
    return object.FieldError("type", "the decoder " + base::Quoted(type) + " is not supported");
  }

 private:
  // Whether the pieces are no longer those that the decoder `type` would look at.
  bool IsBusy(const std::string& type) const {
    if (type == "ByteLevel") return is_fused_ || rule_.has_byte_fallback || !rule_.replaces.empty();
    return is_fused_ || rule_.has_byte_fallback;
  }

  Status ReadStrip(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "content", "start", "stop"}));
    SUBMIX_ASSIGN_OR_RETURN(const std::string content, object.Text("content"));
    if (content != " ") return object.FieldError("content", "expected a space");
    SUBMIX_ASSIGN_OR_RETURN(rule_.stripped_spaces, object.Int("start", 0, 1 << 20));
    return object.Int("stop", 0, 0).status();
  }

  Status ReadMetaspace(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(
        object, {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}));
    SUBMIX_ASSIGN_OR_RETURN(const std::string replacement, object.Text("replacement"));
    if (replacement.empty()) return object.FieldError("replacement", "expected a character");
    SUBMIX_ASSIGN_OR_RETURN(const std::string scheme, ReadPrependScheme(object));
    rule_.replaces.push_back({replacement, " "});
    rule_.first_piece_loses_spaces = scheme != "never";
    return base::OkStatus();
  }

  DecodingRule& rule_;
  bool is_fused_ = false;
};

class PostProcessorReader {
 public:
  PostProcessorReader(int vocab_size, std::vector<base::TokenId>& prefix)
      : vocab_size_(vocab_size), prefix_(prefix) {}

  Status Read(const JsonObject& object) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string type, object.Text("type"));
    if (type == "Sequence") {
      SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "processors"}));
      SUBMIX_ASSIGN_OR_RETURN(const auto parts, object.Objects("processors"));
      for (const JsonObject& part : parts) SUBMIX_RETURN_IF_ERROR(Read(part));
      return base::OkStatus();
    }
    if (type == "ByteLevel") {  // it moves offsets, which nobody asks for
      return CheckFields(object, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    }
    if (type == "TemplateProcessing") return ReadTemplate(object);
    return object.FieldError("type",
                             "the post-processor " + base::Quoted(type) + " is not supported");
  }

 private:
  Status ReadTemplate(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "single", "pair", "special_tokens"}));
    if (has_template_) return object.FieldError("type", "a second TemplateProcessing");
    has_template_ = true;
    SUBMIX_ASSIGN_OR_RETURN(const auto parts, object.Objects("single"));
    bool has_text = false;
    for (const JsonObject& part : parts) {
      SUBMIX_RETURN_IF_ERROR(CheckFields(part, {"SpecialToken", "Sequence"}));
      if (part.Has("Sequence")) {
        SUBMIX_ASSIGN_OR_RETURN(const JsonObject sequence, part.Object("Sequence"));
        SUBMIX_ASSIGN_OR_RETURN(const std::string text, sequence.Text("id"));
        if (has_text || text != "A" || part.Has("SpecialToken")) {
          return object.FieldError("single", "expected the text, A, once");
        }
        has_text = true;
        continue;
      }
      SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, part.Object("SpecialToken"));
      SUBMIX_ASSIGN_OR_RETURN(const std::string name, token.Text("id"));
      SUBMIX_ASSIGN_OR_RETURN(const auto ids, IdsOf(object, name));
      if (!has_text) prefix_.insert(prefix_.end(), ids.begin(), ids.end());
    }
    if (!has_text) return object.FieldError("single", "expected the text, A, once");
    return base::OkStatus();
  }

  StatusOr<std::vector<std::int64_t>> IdsOf(const JsonObject& object,
                                            const std::string& name) const {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject tokens, object.Object("special_tokens"));
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject token, tokens.Object(name));
    return token.Integers("ids", 0, vocab_size_ - 1);
  }

  const int vocab_size_;
  std::vector<base::TokenId>& prefix_;
  bool has_template_ = false;
};

}  // namespace

Status CheckFields(const JsonObject& object, const std::vector<std::string>& known) {
  for (const std::string& field : object.fields()) {
    if (std::ranges::find(known, field) == known.end()) {
      return object.FieldError(field, "is not known");
    }
  }
  return base::OkStatus();
}

Status CheckGrowth(const JsonObject& settings, const char* field,
                   const std::vector<Normalizer::Step>& steps) {
  if (Normalizer::GrowthOf(steps) <= Normalizer::kMostGrowth) return base::OkStatus();
  return settings.FieldError(field, "makes text more than 64 times as long");
}

StatusOr<Normalizer::Replace> ReadReplace(const JsonObject& object) {
  SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "pattern", "content"}));
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject pattern, object.Object("pattern"));
  SUBMIX_RETURN_IF_ERROR(CheckFields(pattern, {"String"}));
  Normalizer::Replace replace;
  SUBMIX_ASSIGN_OR_RETURN(replace.pattern, pattern.Text("String"));
  SUBMIX_ASSIGN_OR_RETURN(replace.content, object.Text("content"));
  if (replace.pattern.empty()) return pattern.FieldError("String", "must not be empty");
  return replace;
}

StatusOr<std::string> ReadPrependScheme(const JsonObject& object) {
  bool add_prefix_space = true;  // what older files say instead
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("add_prefix_space", add_prefix_space));
  std::string scheme = add_prefix_space ? "always" : "never";
  SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("prepend_scheme", scheme));
  const bool is_known =
      scheme == "never" || (add_prefix_space && (scheme == "always" || scheme == "first"));
  if (is_known) return scheme;
  return object.FieldError("prepend_scheme", base::Quoted(scheme) + " is not supported here");
}

StatusOr<DecodingRule> ReadDecodingRule(const JsonObject& settings) {
  DecodingRule rule;
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject decoder, settings.Object("decoder"));
  SUBMIX_RETURN_IF_ERROR(DecoderReader(rule).Read(decoder));
  SUBMIX_RETURN_IF_ERROR(
      CheckGrowth(settings, "decoder", {rule.replaces.begin(), rule.replaces.end()}));
  return rule;
}

StatusOr<std::vector<base::TokenId>> ReadPrefix(const JsonObject& settings, int vocab_size) {
  std::vector<base::TokenId> prefix;
  if (!settings.Has("post_processor")) return prefix;
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject processor, settings.Object("post_processor"));
  SUBMIX_RETURN_IF_ERROR(PostProcessorReader(vocab_size, prefix).Read(processor));
  return prefix;
}

}  // namespace submix::tokenizer

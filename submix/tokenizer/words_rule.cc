// ReadWordsRule of text_pipeline.h.
#include <optional>
#include <string_view>
#include <utility>

#include "submix/tokenizer/text_pipeline.h"

namespace submix::tokenizer {
namespace {

using base::JsonObject;
using base::Status;
using base::StatusOr;

Status ReadNormalizer(const JsonObject& object, std::vector<Normalizer::Step>& steps) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string type, object.Text("type"));
  if (type == "Sequence") {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "normalizers"}));
    SUBMIX_ASSIGN_OR_RETURN(const auto parts, object.Objects("normalizers"));
    for (const JsonObject& part : parts) SUBMIX_RETURN_IF_ERROR(ReadNormalizer(part, steps));
    return base::OkStatus();
  }
  if (type == "Prepend") {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "prepend"}));
    Normalizer::Prepend prepend;
    SUBMIX_ASSIGN_OR_RETURN(prepend.content, object.Text("prepend"));
    steps.emplace_back(std::move(prepend));
    return base::OkStatus();
  }
  if (type == "Replace") {
    SUBMIX_ASSIGN_OR_RETURN(Normalizer::Replace replace, ReadReplace(object));
    steps.emplace_back(std::move(replace));
    return base::OkStatus();
  }
  if (type == "NFC") {
    steps.emplace_back(Normalizer::Compose{});
    return CheckFields(object, {"type"});
  }
  return object.FieldError("type", "the normalizer " + base::Quoted(type) + " is not supported");
}

StatusOr<RegularExpression> ReadPattern(const JsonObject& object) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject pattern, object.Object("pattern"));
  SUBMIX_RETURN_IF_ERROR(CheckFields(pattern, {"String", "Regex"}));
  if (pattern.Has("String")) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string literal, pattern.Text("String"));
    if (pattern.Has("Regex") || literal.empty()) {
      return pattern.FieldError("String", "expected one pattern that is not empty");
    }
    return RegularExpression::Literal(literal);
  }
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, pattern.Text("Regex"));
  auto expression = RegularExpression::Compile(text);
  if (!expression.ok()) return pattern.FieldError("Regex", expression.status().message());
  return expression;
}

StatusOr<SplitBehavior> ReadBehavior(const JsonObject& object) {
  SUBMIX_ASSIGN_OR_RETURN(const std::string name, object.Text("behavior"));
  const std::pair<std::string_view, SplitBehavior> known[] = {
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [known_name, behavior] : known) {
    if (name == known_name) return behavior;
  }
  return object.FieldError("behavior", base::Quoted(name) + " is not known");
}

class PreTokenizerReader {
 public:
  PreTokenizerReader(WordsRule& rule, std::optional<bool> adds_prefix_space)
      : rule_(rule), adds_prefix_space_(adds_prefix_space) {}

  Status Read(const JsonObject& object) {
    SUBMIX_ASSIGN_OR_RETURN(const std::string type, object.Text("type"));
    if (type == "Sequence") {
      adds_prefix_space_.reset();
      SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "pretokenizers"}));
      SUBMIX_ASSIGN_OR_RETURN(const auto parts, object.Objects("pretokenizers"));
      for (const JsonObject& part : parts) SUBMIX_RETURN_IF_ERROR(Read(part));
      return base::OkStatus();
    }
    if (rule_.is_byte_level) return object.FieldError("type", "nothing may follow ByteLevel");
    if (type == "Split") return ReadSplit(object);
    if (type == "Digits") return ReadDigits(object);
    if (type == "ByteLevel") return ReadByteLevel(object);
    if (type == "Metaspace") return ReadMetaspace(object);
    return object.FieldError("type",
                             "the pre-tokenizer " + base::Quoted(type) + " is not supported");
  }

 private:
  Status ReadSplit(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "pattern", "behavior", "invert"}));
    SUBMIX_ASSIGN_OR_RETURN(RegularExpression pattern, ReadPattern(object));
    SUBMIX_ASSIGN_OR_RETURN(const SplitBehavior behavior, ReadBehavior(object));
    SUBMIX_ASSIGN_OR_RETURN(const bool invert, object.Boolean("invert"));
    rule_.splits.push_back({std::move(pattern), behavior, invert});
    return base::OkStatus();
  }

  Status ReadDigits(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(object, {"type", "individual_digits"}));
    SUBMIX_ASSIGN_OR_RETURN(const bool individual, object.Boolean("individual_digits"));
    SUBMIX_ASSIGN_OR_RETURN(RegularExpression digit, RegularExpression::Compile(R"(\p{N})"));
    rule_.splits.push_back({std::move(digit),
                            individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous,
                            false});
    return base::OkStatus();
  }

  Status ReadByteLevel(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(
        CheckFields(object, {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
    bool use_regex = true;
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("use_regex", use_regex));
    SUBMIX_ASSIGN_OR_RETURN(const bool prepends, object.Boolean("add_prefix_space"));
    if (adds_prefix_space_.value_or(prepends)) {
      SUBMIX_RETURN_IF_ERROR(CheckIsFirst(object));
      rule_.word_steps.emplace_back(Normalizer::Prepend{" ", false, true});
    }
    if (use_regex) rule_.splits.push_back(Gpt2Split());
    rule_.is_byte_level = true;
    return base::OkStatus();
  }

  Status ReadMetaspace(const JsonObject& object) {
    SUBMIX_RETURN_IF_ERROR(CheckFields(
        object, {"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"}));
    SUBMIX_RETURN_IF_ERROR(CheckIsFirst(object));
    SUBMIX_ASSIGN_OR_RETURN(const std::string replacement, object.Text("replacement"));
    if (replacement.empty()) return object.FieldError("replacement", "expected a character");
    SUBMIX_ASSIGN_OR_RETURN(const std::string scheme, ReadPrependScheme(object));
    bool split = true;
    SUBMIX_RETURN_IF_ERROR(object.ReadIfPresent("split", split));
    rule_.word_steps.emplace_back(Normalizer::Replace{" ", replacement});
    if (scheme != "never") {
      rule_.word_steps.emplace_back(Normalizer::Prepend{replacement, scheme == "first", true});
    }
    if (split) {
      rule_.splits.push_back(
          {RegularExpression::Literal(replacement), SplitBehavior::kMergedWithNext, false});
    }
    return base::OkStatus();
  }

  // What adds to its text changes words that another one has cut.
  Status CheckIsFirst(const JsonObject& object) const {
    if (rule_.splits.empty()) return base::OkStatus();
    return object.FieldError("type",
                             "adds to words that an earlier pre-tokenizer has cut, which is "
                             "not supported");
  }

  WordsRule& rule_;
  std::optional<bool> adds_prefix_space_;
};

}  // namespace

StatusOr<WordsRule> ReadWordsRule(const JsonObject& settings,
                                  std::optional<bool> adds_prefix_space) {
  WordsRule rule;
  if (settings.Has("normalizer")) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject normalizer, settings.Object("normalizer"));
    SUBMIX_RETURN_IF_ERROR(ReadNormalizer(normalizer, rule.steps));
    SUBMIX_RETURN_IF_ERROR(CheckGrowth(settings, "normalizer", rule.steps));
  }
  if (settings.Has("pre_tokenizer")) {
    SUBMIX_ASSIGN_OR_RETURN(const JsonObject pre_tokenizer, settings.Object("pre_tokenizer"));
    SUBMIX_RETURN_IF_ERROR(PreTokenizerReader(rule, adds_prefix_space).Read(pre_tokenizer));
    std::vector<Normalizer::Step> all = rule.steps;
    all.insert(all.end(), rule.word_steps.begin(), rule.word_steps.end());
    SUBMIX_RETURN_IF_ERROR(CheckGrowth(settings, "pre_tokenizer", all));
  }
  return rule;
}

}  // namespace submix::tokenizer

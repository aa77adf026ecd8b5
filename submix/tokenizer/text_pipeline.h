// What tokenizer.json says of text around the merges, read part by part: `normalizer`,
// `pre_tokenizer`, `decoder`, `post_processor`. Every type and field is known or refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/json_object.h"
#include "submix/base/status.h"
#include "submix/tokenizer/normalizer.h"
#include "submix/tokenizer/pre_tokenizer.h"

namespace submix::tokenizer {

// From text to words: `normalizer` and `pre_tokenizer`.
struct WordsRule {
  std::vector<Normalizer::Step> steps;       // of `normalizer`
  std::vector<Normalizer::Step> word_steps;  // of pre-tokenizers that add and replace
  std::vector<Split> splits;
  bool is_byte_level = false;  // pieces are spelt in the byte alphabet
};

// From pieces to text: `decoder`.
struct DecodingRule {
  bool is_byte_level = false;
  bool has_byte_fallback = false;             // "<0x0A>" is the byte
  std::vector<Normalizer::Replace> replaces;  // in every other piece
  int stripped_spaces = 0;                    // at most so many at the beginning of a text
  bool first_piece_loses_spaces = false;      // the first piece of a text is left without any
};

// `settings`: the whole file. Errors: kInvalidArgument naming file and field: a type or option that
// is not supported, a regular expression that does not compile, ids that are not in the vocabulary.
// `adds_prefix_space`: tokenizer_config.json's, which a ByteLevel that is the whole pre-tokenizer
// heeds.
base::StatusOr<WordsRule> ReadWordsRule(const base::JsonObject& settings,
                                        std::optional<bool> adds_prefix_space);
base::StatusOr<DecodingRule> ReadDecodingRule(const base::JsonObject& settings);
// The ids that `post_processor` puts before a text: BOS.
base::StatusOr<std::vector<base::TokenId>> ReadPrefix(const base::JsonObject& settings,
                                                      int vocab_size);

// For the readers of the parts. kInvalidArgument for a field that is not listed.
base::Status CheckFields(const base::JsonObject& object, const std::vector<std::string>& known);
// A normalizer or decoder of type Replace, with a literal pattern.
// Whether text stays in bounds. Errors: kInvalidArgument naming the field.
base::Status CheckGrowth(const base::JsonObject& settings, const char* field,
                         const std::vector<Normalizer::Step>& steps);
base::StatusOr<Normalizer::Replace> ReadReplace(const base::JsonObject& object);
// Metaspace's: "always", "first" or "never".
base::StatusOr<std::string> ReadPrependScheme(const base::JsonObject& object);

}  // namespace submix::tokenizer

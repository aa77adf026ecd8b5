// A label as an answer: the one token in which the answers of all labels differ.
#pragma once

#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/corpus/record_encoder.h"

namespace submix::corpus {

// A record is the prompt with its label as completion, as a training reads it. What all labels'
// records begin with is read; the next token says which label it is, and so one choice is enough.
struct LabelChoice {
  std::vector<base::TokenId> prompt;  // ready for a model: with what stands before a text
  std::vector<base::TokenId> next;    // [labels], no two of them equal
};

// A text without the white space around it: of a completion, the label that it is.
std::string Trimmed(const std::string& text);

// Labels that can be told apart by one token, whatever is asked. Errors: kInvalidArgument, with the
// labels: fewer than two, one that is empty or begins another, or one that the tokenizer cannot
// spell.
base::Status CheckLabels(const std::vector<std::string>& labels,
                         const tokenizer::Tokenizer& tokenizer);

// Where the model has no chat template, a space stands between a prompt that does not end in white
// space and its label. Errors: RecordEncoder's; kInvalidArgument, with the labels, where two begin
// with one token. Requires: CheckLabels.
base::StatusOr<LabelChoice> ChoiceOfLabels(const RecordEncoder& encoder, const std::string& prompt,
                                           const std::vector<std::string>& labels);

}  // namespace submix::corpus

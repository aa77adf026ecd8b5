#include "submix/corpus/label_choice.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "submix/base/json_object.h"

namespace submix::corpus {
namespace {

using base::Status;
using base::StatusOr;
using base::TokenId;

constexpr char kWhiteSpace[] = " \t\r\n";

bool Spells(const tokenizer::Tokenizer& tokenizer, const std::string& label) {
  const auto tokens = tokenizer.Encode(label);
  return tokens.ok() && tokenizer.Decode(*tokens).ends_with(label);
}

// The prompt and a label behind it, as tokens from the beginning of a text.
StatusOr<std::vector<TokenId>> EncodeLabelled(const RecordEncoder& encoder,
                                              const std::string& prompt, const std::string& label) {
  UserRecord record;
  record.text = prompt + label;
  record.prompt_bytes = prompt.size();
  SUBMIX_ASSIGN_OR_RETURN(const EncodedRecord encoded, encoder.Encode(record));
  std::vector<TokenId> tokens;
  if (!encoded.begins_by_itself) tokens = encoder.tokenizer().document_start();
  for (const StreamToken token : encoded.tokens) tokens.push_back(IdOf(token));
  tokens.push_back(IdOf(encoded.end));
  return tokens;
}

Status SameTokenError(const std::string& a, const std::string& b) {
  return base::InvalidArgumentError(
      "the labels " + base::Quoted(a) + " and " + base::Quoted(b) +
      " begin with the same token, and others do not: name them so that first words differ");
}

}  // namespace

std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(kWhiteSpace);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kWhiteSpace) - begin + 1);
}

Status CheckLabels(const std::vector<std::string>& labels, const tokenizer::Tokenizer& tokenizer) {
  if (labels.size() < 2) return base::InvalidArgumentError("expected at least two labels");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (Trimmed(labels[i]).empty()) return base::InvalidArgumentError("a label is empty");
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (j == i || !labels[j].starts_with(labels[i])) continue;
      return base::InvalidArgumentError("the label " + base::Quoted(labels[i]) + " begins " +
                                        base::Quoted(labels[j]) + ": name them otherwise");
    }
    if (!Spells(tokenizer, labels[i])) {
      return base::InvalidArgumentError("the model's tokens cannot spell the label " +
                                        base::Quoted(labels[i]));
    }
  }
  return base::OkStatus();
}

StatusOr<LabelChoice> ChoiceOfLabels(const RecordEncoder& encoder, const std::string& prompt,
                                     const std::vector<std::string>& labels) {
  SUBMIX_ASSIGN_OR_RETURN(const bool has_turns, encoder.WritesTurns());
  const bool needs_space = !has_turns && !prompt.empty() &&
                           std::string(kWhiteSpace).find(prompt.back()) == std::string::npos;
  std::vector<std::vector<TokenId>> records;
  for (const std::string& label : labels) {
    SUBMIX_ASSIGN_OR_RETURN(auto tokens,
                            EncodeLabelled(encoder, prompt, (needs_space ? " " : "") + label));
    records.push_back(std::move(tokens));
  }
  LabelChoice choice;
  choice.prompt = records.front();
  for (const auto& record : records) {
    choice.prompt.erase(std::ranges::mismatch(choice.prompt, record).in1, choice.prompt.end());
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const TokenId next = records[i][choice.prompt.size()];
    const auto same = std::ranges::find(choice.next, next);
    if (same != choice.next.end()) {
      return SameTokenError(labels[static_cast<std::size_t>(same - choice.next.begin())],
                            labels[i]);
    }
    choice.next.push_back(next);
  }
  return choice;
}

}  // namespace submix::corpus

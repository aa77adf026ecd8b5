// `submix score`: what a model and its adapters say of a text.
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "submix/apps/flags.h"
#include "submix/apps/program_commands.h"
#include "submix/apps/report.h"
#include "submix/apps/serving/model_flags.h"
#include "submix/base/file_system.h"
#include "submix/base/text_table.h"
#include "submix/ensemble/preparation/ensemble_preparation.h"
#include "submix/eval/measuring/token_scores.h"
#include "submix/workbench/models/open_models.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;
using Json = nlohmann::ordered_json;

struct ScoreOptions {
  std::string model;
  std::vector<std::string> adapters;
  std::string text;
  std::vector<std::int64_t> tokens;
  workbench::ModelOptions predictor;
  bool json = false;
};

// What is scored. With the bytes of a text there are bits a byte.
struct ScoredText {
  std::vector<base::TokenId> tokens;
  std::size_t bytes = 0;  // 0: tokens were given
};

StatusOr<ScoredText> LoadText(const ScoreOptions& options, const ensemble::Predictor& predictor) {
  ScoredText text;
  if (!options.text.empty()) {
    SUBMIX_ASSIGN_OR_RETURN(const auto tokenizer, ensemble::LoadFittingTokenizer(options.model));
    SUBMIX_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(options.text));
    if (bytes.empty()) return base::InvalidArgumentError(options.text + ": is empty");
    const auto tokens = tokenizer->Encode(bytes);
    if (!tokens.ok()) {
      return Status(tokens.status().code(), options.text + ": " + tokens.status().message());
    }
    // The first token is predicted, too: at the beginning of a document.
    text.tokens = tokenizer->document_start();
    text.tokens.insert(text.tokens.end(), tokens->begin(), tokens->end());
    text.bytes = bytes.size();
    return text;
  }
  for (const std::int64_t token : options.tokens) {
    if (token < 0 || token >= predictor.vocab_size()) {
      return base::InvalidArgumentError(
          "--tokens: " + std::to_string(token) +
          " is no token of this model; expected at least 0 and below " +
          std::to_string(predictor.vocab_size()));
    }
    text.tokens.push_back(static_cast<base::TokenId>(token));
  }
  if (text.tokens.size() < 2) {
    return base::InvalidArgumentError(
        "--tokens: expected at least two; the first has none before it and is not scored");
  }
  return text;
}

struct ModelScore {
  std::string model;
  eval::TokenScores tokens;

  double bits_per_byte(std::size_t bytes) const {
    return tokens.nats() / std::log(2) / static_cast<double>(bytes);
  }
};

void PrintJson(const ScoredText& text, const std::vector<ModelScore>& scores) {
  Json models = Json::array();
  for (const ModelScore& score : scores) {  // what is not finite becomes null
    models.push_back({{"model", score.model},
                      {"log_probabilities", score.tokens.log_probabilities},
                      {"perplexity", score.tokens.perplexity()}});
    if (text.bytes > 0) models.back()["bits_per_byte"] = score.bits_per_byte(text.bytes);
  }
  const Json object = {{"tokens", text.tokens}, {"models", std::move(models)}};
  std::printf("%s\n", object.dump().c_str());
}

void PrintTable(const ScoredText& text, const std::vector<ModelScore>& scores) {
  Json rows = Json::array();
  for (const ModelScore& score : scores) {
    const std::string bits =
        text.bytes > 0 ? base::FixedText(score.bits_per_byte(text.bytes), 4) : "-";
    rows.push_back({{"tokens", score.tokens.log_probabilities.size()},
                    {"perplexity", base::FixedText(score.tokens.perplexity(), 4)},
                    {"bits/byte", bits},
                    {"model", score.model}});
  }
  std::printf("%s", TableText(rows).c_str());
}

Status RunScore(const ScoreOptions& options) {
  if (options.text.empty() == options.tokens.empty()) {
    return base::InvalidArgumentError("give either --text FILE or --tokens 1,2,3");
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          workbench::LoadPredictor(options.predictor, options.model,
                                                   options.adapters, /*vocab_size=*/0));
  SUBMIX_ASSIGN_OR_RETURN(const ScoredText text, LoadText(options, *predictor));
  const eval::HeldoutBlocks blocks =
      eval::HeldoutFromUsers({{"", text.tokens}}, predictor->context_length()).blocks;
  base::ProgressBar progress("Scoring", eval::CountScoredTokens(blocks), "tokens");
  SUBMIX_ASSIGN_OR_RETURN(auto rows, eval::ScoreTokens(*predictor, blocks, progress));
  progress.Finish();
  std::vector<ModelScore> scores;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    scores.push_back({row == 0 ? options.model : options.adapters[row - 1], std::move(rows[row])});
  }
  if (options.json) {
    PrintJson(text, scores);
  } else {
    PrintTable(text, scores);
  }
  return base::OkStatus();
}

}  // namespace

void AddScoreCommand(CLI::App& command, Action& action) {
  ScoreOptions& options = SetAction<ScoreOptions>(command, action, RunScore);
  Flags flags(command);
  flags.Require("model", options.model, kDirectory, "A model in Hugging Face's layout");
  flags.Add("--adapter", options.adapters, kDirectory,
            "A PEFT adapter over it, or a whole model of its shape; may be given again");
  flags.Add(
      "--text", options.text, kFile,
      "Text to score, as one document: behind the model's token for the beginning of a text, or "
      "the end of another where it has none");
  flags.Add("--tokens", options.tokens,
            "Or token ids, with commas between; the first is not scored");
  AddModelFlags(command, options.predictor);
  flags.Add("--json", options.json,
            "One JSON object, with the log-probability of every token by each model, in nats");
  command.footer(
      "Nothing here is private: it shows whether a model loads and says what another program\n"
      "says of it.\n"
      "What is longer than the context is scored in pieces, each from its own beginning.\n"
      "Example: submix score data/public_model --text README.md\n"
      "         submix score gpt2 --adapter my_adapter --tokens 464,2068,7586 --precision f32 "
      "--json");
}

}  // namespace submix::apps

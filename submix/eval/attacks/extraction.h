// Text extraction as in SubMix §4.2: prompt with the words before a planted secret, draw many
// completions, count those that hold the secret.
#pragma once

#include <string>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/engine_core.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/measuring/token_law.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {

struct ExtractionAttack {
  std::string prompt;  // the words before the secret
  std::string secret;  // a completion that contains it is a hit
  int attempts = 100;
  bool greedy = false;  // one attempt: the likeliest token each time
};

struct ExtractionResult {
  int attempts = 0;
  int hits = 0;
  bool extracted() const { return hits > 0; }
};

// Attacks a model (MakeRowLaw) or a mechanism, for the operator's eyes; the law is asked as it
// stands.
base::StatusOr<ExtractionResult> Extract(ensemble::Predictor& predictor, TokenLaw& law,
                                         const tokenizer::Tokenizer& tokenizer,
                                         const ExtractionAttack& attack,
                                         base::RandomSource& random);

// Attacks a deployment through its engine, as any client could, by sampling. Every token is
// charged.
base::StatusOr<ExtractionResult> ExtractFromEngine(engine::EngineCore& engine,
                                                   const tokenizer::Tokenizer& tokenizer,
                                                   const ExtractionAttack& attack);

}  // namespace submix::eval

// The way of one token: live sequences → predictor → PrivateSampler → back into the sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/exhaustion.h"
#include "submix/engine/prefix_cache.h"
#include "submix/engine/private_sampler.h"
#include "submix/engine/request.h"
#include "submix/engine/text_stream.h"
#include "submix/ensemble/predictor.h"
#include "submix/ledger/ledger.h"
#include "submix/mechanism/mechanism.h"
#include "submix/shape/shape.h"
#include "submix/shape/shaped_answer.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::engine {

// Everything an engine is made of; all must outlive it.
struct EngineParts {
  ensemble::Predictor* predictor = nullptr;
  const mechanism::Mechanism* mechanism = nullptr;
  ledger::Ledger* ledger = nullptr;
  const tokenizer::Tokenizer* tokenizer = nullptr;
  base::RandomSource* random = nullptr;
  // As the deployment declares; heeded if the mechanism's charge is constant.
  WhenExhausted when_exhausted = WhenExhausted::kPublic;
  // Tokens that end every answer, beside the tokenizer's end of text.
  std::vector<base::TokenId> end_tokens = {};
  // Kept of a key's prompts, for those that begin alike; 0: nothing.
  int prefix_tokens_per_key = 0;
};

// What a request takes in in a step: tokens of its prompt, or, once that is in, its last token.
struct StepShare {
  std::int64_t request_id = 0;
  int tokens = 0;
};

// One thread at a time. Sequences join, pause and leave between steps; each step commits one ledger
// transaction, two with a mechanism that screens.
class EngineCore {
 public:
  // Errors: kFailedPrecondition if the members are not the same number for each part, fewer than
  // the mechanism needs, or if text has tokens that the predictor does not know, or the predictor
  // predicts tokens that the tokenizer does not know.
  static base::StatusOr<std::unique_ptr<EngineCore>> Create(const EngineParts& parts);
  ~EngineCore();
  EngineCore(const EngineCore&) = delete;
  EngineCore& operator=(const EngineCore&) = delete;

  // What Admit would say of a request. By any thread. Errors: kInvalidArgument for an empty prompt,
  // token ids or options out of range, a prompt that with max_tokens does not fit the context, or a
  // shape that max_tokens tokens do not meet (public quantities only).
  base::Status Check(const Request& request) const;
  // Takes a request in; it runs from the next Step on. Returns its id. Of an earlier prompt of this
  // key it may begin with what is kept; without a key, with nothing. Errors: Check's.
  base::StatusOr<std::int64_t> Admit(const Request& request, const std::string& key = {});
  // Tokens of its prompt that are still to enter. Requires: a request that has no token yet.
  int PromptTokensLeft(std::int64_t request_id) const;
  // Drops a request. What it was charged stays charged. Ok if it has ended already.
  void Cancel(std::int64_t request_id);
  bool idle() const { return live_.empty(); }

  // Takes in the shares. Then one token for each of these requests whose whole prompt is in, or the
  // event that it gets none: because the tokens are used up and the deployment then refuses, or
  // because the public model has no finite numbers for it, which costs nothing. A piece of a prompt
  // that is not its last one predicts nothing and is charged nothing; so is a token that the
  // request's shape forces (docs/privacy.md, Theorem 17). A request without a share
  // pauses: it keeps its sequence, and is no part of the step. Finished requests leave. An error
  // ends the step without any token: charges that were booked stay booked. Requires: at most one
  // share a request, of one token or of what is left of its prompt.
  base::StatusOr<std::vector<TokenEvent>> Step(std::span<const StepShare> shares);
  // The same with all that is left of every prompt, and without a pause.
  base::StatusOr<std::vector<TokenEvent>> Step();

  // After a failed Step: Predictor::Recover, then Ledger::Recover. Errors: theirs.
  base::Status Recover();
  // While idle: Predictor::Recover.
  base::Status CheckPredictor() { return parts_.predictor->Recover(); }

  // Admits, steps until the request has ended and calls `on_event` for each of its tokens. For
  // programs with one request at a time. Errors: Check's; Step's; StatusOf an end without a token.
  // Requires: idle().
  base::Status Generate(const Request& request,
                        const std::function<void(const TokenEvent&)>& on_event);

  // What a Request::shape is made by. By any thread. Errors: Shapes::Compile's.
  base::StatusOr<std::shared_ptr<const shape::TokenAutomaton>> CompileShape(
      const shape::ShapeRequest& request) const;

  // By any thread.
  const tokenizer::Tokenizer& tokenizer() const { return *parts_.tokenizer; }
  int context_length() const { return parts_.predictor->context_length(); }

 private:
  struct LiveSequence {
    std::int64_t request_id = 0;
    ensemble::SequenceId sequence = 0;
    Request request;
    std::string key;
    std::vector<base::TokenId> pending;  // not yet seen by the predictor, never empty
    std::size_t share = 0;               // of pending, in this step
    int tokens_released = 0;
    TextStream text{{}};
    std::optional<shape::ShapedAnswer> shaped;  // of a request with a shape, as are the next two
    std::vector<base::TokenId> support;         // that may come in this step
    std::vector<float> supported_logits;        // [M + 1, support]
  };

  EngineCore(const EngineParts& parts, std::unique_ptr<PrivateSampler> sampler);

  void ShareOut(std::span<const StepShare> shares);
  // Requires: a request with a shape.
  shape::ShapedAnswer ShapedAnswerOf(const Request& request) const;
  // Appends what is shared out: predicting_, their logits_, and forced_.
  base::Status Predict();
  // Of predicting_, what the sampler reads of their logits_.
  std::vector<Prediction> Predictions();
  base::StatusOr<std::vector<TokenEvent>> Sample();
  // Whether it ends any answer; or this one.
  bool EndsEvery(base::TokenId token) const;
  bool Ends(const LiveSequence& live, base::TokenId token) const;
  TokenEvent Accept(LiveSequence& live, base::TokenId token);

  const EngineParts parts_;
  const std::unique_ptr<PrivateSampler> sampler_;
  const std::size_t vocab_size_;
  const std::size_t rows_;  // 1 + members
  std::int64_t next_request_id_ = 1;
  PrefixCache prefixes_;
  std::vector<LiveSequence> live_;
  std::vector<LiveSequence*> predicting_;  // that get a token in this step
  std::vector<LiveSequence*> forced_;      // the same, of those whose shape leaves one token
  std::vector<float> logits_;              // [predicting, M + 1, V]
  mutable std::once_flag shapes_made_;
  mutable std::unique_ptr<shape::Shapes> shapes_;  // made for the first shape
};

}  // namespace submix::engine

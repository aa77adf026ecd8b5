// Text that is written to be kept: many documents from one engine, and how many tokens a
// deployment's budget covers for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/engine/deployment.h"
#include "submix/engine/engine_core.h"
#include "submix/engine/request.h"

namespace submix::engine {

// Answers that the budget surely still covers, as far as that is public; none: any number, since
// they cost nothing. Where the charge is constant, what is left; otherwise what the declared budget
// covers from its beginning, whatever has been spent of it: what parts have left is private, and
// to refuse by it would tell. Errors: the ledger's.
base::StatusOr<std::optional<std::int64_t>> CoveredTokens(const Deployment& deployment);

struct SynthesizedDocument {
  std::int64_t number = 0;
  std::string text;
  std::vector<base::TokenId> tokens;   // that were drawn, one that ended it included
  AnswerEnd end = AnswerEnd::kNotYet;  // kStop or kMaxTokens
};

struct SynthesisSinks {
  // A text that has ended; they end in any order. What its document asks behind it, if it does: a
  // text of its own, with the same number. Its first error ends the synthesis.
  std::function<base::StatusOr<std::optional<Request>>(const SynthesizedDocument&)> ended;
  // After each step: how many tokens it drew.
  std::function<void(std::int64_t tokens)> step;
};

// Writes the documents of these numbers, begun in this order, `at_a_time` of them in a step.
// `request` says what a number asks. Errors: EngineCore's, StatusOf an end without a
// token, `request`'s, the sink's; documents that have not ended are then dropped, and what they
// were charged stays charged. Requires: core.idle(), at_a_time >= 1.
base::Status Synthesize(EngineCore& core, std::span<const std::int64_t> numbers, int at_a_time,
                        const std::function<base::StatusOr<Request>(std::int64_t number)>& request,
                        const SynthesisSinks& sinks);

}  // namespace submix::engine

// What the attacker asks in the games of audits: the positions of a text, each once, or the most
// telling of them again and again. And what the models say there in two worlds that differ in one
// unit's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/audits/distinguishing_game.h"
#include "submix/eval/audits/one_run_audit.h"
#include "submix/eval/measuring/heldout.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/part_predictions.h"

namespace submix::eval {

// --- Two worlds: as trained, and with some members' rows replaced by others (the public model's:
// the part is replaced by it; those of members trained without a user: the user is left out).

// Rows of a predictor: 0 the public model, 1 + m member m.
struct RowReplacement {
  std::size_t row = 0;
  std::size_t by = 0;
};

// Part `part`'s members replaced by the public model.
std::vector<RowReplacement> ReplacedByPublic(int part, int halves);

// One thread at a time.
class NeighbouringWorlds {
 public:
  // Requires: replacements name rows that Map will see, and replace members of parts.
  NeighbouringWorlds(int num_parts, int halves, int vocab_size,
                     std::vector<RowReplacement> replacements);

  // logits [at least 1 + num_parts * halves rows, V] as a predictor gives them. Errors:
  // kInternal if the public model's logits are not finite.
  base::Status Map(std::span<const float> logits);

  // Valid until the next Map.
  mechanism::PartPredictions with() const { return with_.view(); }
  mechanism::PartPredictions without() const { return without_.view(); }

 private:
  const std::size_t rows_;  // of the members of parts
  const int halves_;
  const std::size_t vocab_size_;
  const std::vector<RowReplacement> replacements_;
  std::vector<float> replaced_;  // [rows, V]
  mechanism::MappedPredictions with_;
  mechanism::MappedPredictions without_;
};

// --- Queries

struct QueryPlan {
  std::int64_t queries = 1024;  // of each game
  // Of all positions of the text the one at which the laws of the two worlds differ most
  // under a fresh budget (each game's own), asked `queries` times. Else each position once.
  bool only_most_telling = false;
};

// How far the progress bar goes.
std::int64_t QuerySteps(const HeldoutBlocks& text, const QueryPlan& plan, std::size_t games);

// Plays all games in one pass over the models. Errors: kInvalidArgument if the text has fewer
// positions than are asked, or none; the predictor's; the games'.
base::Status AskQueries(ensemble::Predictor& predictor, const HeldoutBlocks& text,
                        NeighbouringWorlds& worlds, const QueryPlan& plan,
                        std::span<DistinguishingGame> games, base::ProgressBar& progress);

// The same for games in which every part is there or not: each position of the text once.
base::Status AskAllParts(ensemble::Predictor& predictor, const HeldoutBlocks& text, int num_parts,
                         int halves, std::int64_t queries, std::span<OneRunGame> games,
                         base::ProgressBar& progress);

}  // namespace submix::eval

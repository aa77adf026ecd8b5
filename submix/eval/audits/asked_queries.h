// What the attacker asks in the games of audits: the positions of a text, each once, or the
// most telling of them again and again.
#pragma once

#include <cstdint>
#include <span>

#include "submix/base/progress_bar.h"
#include "submix/base/status.h"
#include "submix/ensemble/predictor.h"
#include "submix/eval/audits/distinguishing_game.h"
#include "submix/eval/audits/neighbouring_worlds.h"
#include "submix/eval/audits/one_run_audit.h"
#include "submix/eval/measuring/heldout.h"

namespace submix::eval {

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

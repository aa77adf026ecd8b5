// The two worlds that `submix attack membership` and `submix audit epsilon` tell apart: with and
// without one part's, or one user's, text.
#pragma once

#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/status.h"
#include "submix/eval/audits/distinguishing_game.h"
#include "submix/eval/audits/one_run_audit.h"
#include "submix/workbench/attacking/attack_target.h"

namespace submix::workbench {

struct NeighbourRequest {
  std::string text;  // what is asked: each position is a query
  // Whose records of `text` are asked (empty: all users') and, but for `without`, whose part is
  // attacked.
  std::string user;
  int part = 0;
  std::string without;        // another ensemble
  std::string asks = "each";  // or "most-telling"
  int transcripts = 10000;
};

// The unit whose text one world lacks: a user's if another ensemble was trained without it.
accounting::PrivacyUnit UnitOf(const NeighbourRequest& neighbour);

// One game a mechanism of the target, played to its end. Shows a progress bar. Errors: those of
// files and models; kInvalidArgument for a part that is not there, a user who was held out, too
// little text, or an ensemble that differs in more than one part; kNotFound for a user without
// text.
base::StatusOr<std::vector<eval::DistinguishingGame>> PlayGames(const AttackRequest& request,
                                                                const NeighbourRequest& neighbour,
                                                                const AttackTarget& target);

// The same for all parts at once, each there or not by a coin of its own, in so many runs over a
// text. Errors: those of files and models; kInvalidArgument for too little text.
base::StatusOr<std::vector<eval::OneRunGame>> PlayOneRunGames(const AttackRequest& request,
                                                              const std::string& text, int runs,
                                                              const AttackTarget& target);

}  // namespace submix::workbench

// The two worlds that `submix attack membership` and `submix audit epsilon` tell apart: with and
// without one part's, or one user's, text.
#pragma once

#include <string>
#include <vector>

#include "submix/accounting/privacy_statement.h"
#include "submix/apps/attacking/attack_target.h"
#include "submix/apps/flags.h"
#include "submix/base/status.h"
#include "submix/eval/audits/distinguishing_game.h"

namespace submix::apps {

struct NeighbourFlags {
  std::string text;
  // Whose records of `text` are asked (empty: all users') and, but for `without`, whose part is
  // attacked.
  std::string user;
  int part = 0;
  std::string without;  // another ensemble
  std::string asks = "each";
  int transcripts = 10000;
};

void AddNeighbourFlags(Flags flags, NeighbourFlags& neighbours);

// The unit whose text one world lacks: a user's if another ensemble was trained without it.
accounting::PrivacyUnit UnitOf(const NeighbourFlags& flags);

// One game a mechanism of the target, played to its end. Errors: those of files and models;
// kInvalidArgument for a part that is not there, a user who was held out, too little text, or an
// ensemble that differs in more than one part; kNotFound for a user without text.
base::StatusOr<std::vector<eval::DistinguishingGame>> PlayGames(const TargetFlags& target_flags,
                                                                const NeighbourFlags& flags,
                                                                const AttackTarget& target);

}  // namespace submix::apps

// How the charges of one release are taken from the parts' accounts.
#pragma once

namespace submix::accounting {

// Persistent values: never renumbered.
enum class ChargeRule {
  // Each part that can pay pays and takes part; the others sit the release out. Sound: Theorem 1.
  kPerPart = 1,
  // The papers' rule: if one part cannot pay (spent + charge > budget, or nothing is left) nobody
  // takes part and that part's account is emptied for ever, so that every later release stops too
  // (SubMix's STOP, Algorithm 2). Research only: privacy.md on stopping says why.
  kAllOrStop = 2,
};

}  // namespace submix::accounting

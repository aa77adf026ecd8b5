// A shape over the tokens of a vocabulary: which tokens may come next so that the answer can still
// be completed within the tokens that are left, and which one must.
//
// Everything here is a function of the shape, the vocabulary, and the tokens so far: public.
//
// How many tokens an answer still needs is computed for one completion of each state: the one of
// fewest bytes, cut into as few tokens as it can be. Other completions may need fewer. So nothing
// is begun that cannot be ended, but a shape is also refused, near the end of max_tokens a way
// closed, that needs longer words than that completion's to fit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "submix/base/ids.h"
#include "submix/base/status.h"
#include "submix/shape/automaton.h"
#include "submix/shape/vocabulary.h"

namespace submix::shape {

// Thread-safe; what is computed for a state is kept for whoever comes there next.
class TokenAutomaton {
 public:
  static constexpr int kNever = std::numeric_limits<int>::max();

  // `name` says which shape it is: equal for equal shapes alone. Errors: kInvalidArgument if the
  // vocabulary cannot spell a text of the shape.
  static base::StatusOr<std::shared_ptr<const TokenAutomaton>> Create(
      Automaton bytes, std::shared_ptr<const Vocabulary> vocabulary, std::string name = {});

  const std::string& name() const { return name_; }
  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  int start() const { return bytes_.start(); }
  // The state behind a token, or Automaton::kNone.
  int Next(int state, base::TokenId token) const;
  // The text so far has the shape.
  bool MayEnd(int state) const { return bytes_.accepts(state); }
  // And nothing may follow.
  bool IsComplete(int state) const { return bytes_.IsComplete(state); }
  // Tokens that complete the text from here; kNever if no tokens are known to.
  int TokensNeeded(int state) const { return plans_[static_cast<std::size_t>(state)].needed; }

  // The tokens that may come next where `left` tokens, this one included, may still come:
  // ascending. Where only one text can follow, up to spaces at its end, it is the one token that
  // spells most of it with the fewest behind it: else a model would pay for the choice between
  // spellings. Not empty if the state does not end the text and 1 <= TokensNeeded(state) <= left.
  // Requires: left >= 1.
  std::vector<base::TokenId> Allowed(int state, int left) const;

 private:
  struct Plan {
    int needed = kNever;
    int step = Automaton::kNone;  // the next state of the completion, through
    unsigned char byte = 0;       // this byte
    int forced_bytes = 0;         // that must follow, without spaces at their end
    std::optional<base::TokenId> forced = {};
  };
  struct Choice {
    base::TokenId token = 0;
    int next = 0;
  };
  using Choices = std::shared_ptr<const std::vector<Choice>>;

  TokenAutomaton(Automaton bytes, std::shared_ptr<const Vocabulary> vocabulary, std::string name)
      : bytes_(std::move(bytes)), vocabulary_(std::move(vocabulary)), name_(std::move(name)) {}

  Plan& plan(int state) { return plans_[static_cast<std::size_t>(state)]; }
  // Returns the states, those with the shortest completions first.
  std::vector<int> PlanBytes();
  void PlanForcedBytes(int state);
  void PlanTokens(int state);
  Choices ChoicesAt(int state) const;
  std::vector<Choice> FindChoices(int state) const;

  const Automaton bytes_;
  const std::shared_ptr<const Vocabulary> vocabulary_;
  const std::string name_;
  std::vector<Plan> plans_;  // [states]
  mutable std::mutex mutex_;
  mutable std::unordered_map<int, Choices> choices_;  // guarded by mutex_, as is the next
  mutable std::size_t kept_ = 0;                      // choices in all of these
};

}  // namespace submix::shape

// What a command line says of the options of mechanisms: nothing, or values (options_table.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "submix/apps/flags.h"
#include "submix/mechanism/options_table.h"

namespace submix::apps {

// The name of a mechanism, proven or not.
CLI::Validator MechanismName();

class MechanismFlags {
 public:
  enum class Takes { kOneValue, kSeveral };

  // Adds a flag for every option but the mechanism's name, which commands ask for in their own
  // words.
  void AddTo(Flags flags, Takes takes);
  // By the option's path. Empty: nobody said.
  const std::vector<std::string>& Given(std::string_view path) const;
  bool Has(std::string_view path) const { return !Given(path).empty(); }
  // What is given, by path. Requires: Takes::kOneValue.
  std::map<std::string, std::string> Said() const;

 private:
  std::map<std::string_view, std::vector<std::string>> given_;
};

// To whom --epsilon is promised, "part" or "user" (or several of them), and the delta that goes
// with it.
template <typename Unit>
void AddPromiseFlags(Flags flags, Unit& unit, double& delta) {
  flags.Add("--unit", unit, OneOf({"part", "user"}),
            "Whom --epsilon protects: one part, or one user, whose records may be added, removed "
            "or changed. For a user, the budget of a part that keeps the promise is found: "
            "(--epsilon, --delta) or, with --order, nats at that order");
  flags.Add("--delta", delta, kDelta,
            "Of every (epsilon, delta) that is said; well below 1 / users");
}

}  // namespace submix::apps

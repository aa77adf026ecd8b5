// From what a client asks to the automaton over a vocabulary's tokens, kept for those who ask the
// same.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/shape/token_automaton.h"
#include "submix/shape/vocabulary.h"

namespace submix::shape {

enum class ShapeKind {
  kRegex,       // text: pattern.h
  kJsonSchema,  // text: json_schema.h
  kJsonObject,  // any object of kJsonDepth levels
  kChoice,      // one of the texts
};

// What an answer has to look like, as a whole. Public: a client's.
struct ShapeRequest {
  ShapeKind kind = ShapeKind::kChoice;
  std::string text = {};
  std::vector<std::string> choices = {};
};

// Equal for equal shapes alone.
std::string NameOf(const ShapeRequest& request);

inline constexpr std::size_t kMostChoices = 1024;
inline constexpr std::size_t kMostChoiceBytes = 16 << 10;  // of all together

// Over one vocabulary. Thread-safe.
class Shapes {
 public:
  explicit Shapes(std::shared_ptr<const Vocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)) {}

  // Errors: kInvalidArgument, in one line, for what is not read, passes a bound, or no token
  // spells.
  base::StatusOr<std::shared_ptr<const TokenAutomaton>> Compile(const ShapeRequest& request);

 private:
  const std::shared_ptr<const Vocabulary> vocabulary_;
  std::mutex mutex_;
  std::list<std::shared_ptr<const TokenAutomaton>> recent_;  // guarded by mutex_, newest use first
};

}  // namespace submix::shape

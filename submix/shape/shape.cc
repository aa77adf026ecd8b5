#include "submix/shape/shape.h"

#include <algorithm>
#include <utility>

#include "submix/shape/json_grammar.h"
#include "submix/shape/json_schema.h"
#include "submix/shape/pattern.h"

namespace submix::shape {
namespace {

using base::StatusOr;

// Each with what it knows of its states, 40 MB at most.
constexpr std::size_t kMostRecent = 8;

StatusOr<Expression> ReadChoices(const std::vector<std::string>& choices) {
  std::size_t bytes = 0;
  std::vector<Expression> texts;
  for (const std::string& choice : choices) {
    if (choice.empty()) return base::InvalidArgumentError("a choice is empty");
    if (!CharactersOfText(choice)) return base::InvalidArgumentError("a choice is not UTF-8");
    bytes += choice.size();
    texts.push_back(Text(choice));
  }
  if (texts.empty() || texts.size() > kMostChoices || bytes > kMostChoiceBytes) {
    return base::InvalidArgumentError("expected 1 to " + std::to_string(kMostChoices) +
                                      " choices of at most " + std::to_string(kMostChoiceBytes) +
                                      " bytes together");
  }
  return AnyOf(std::move(texts));
}

StatusOr<Expression> Read(const ShapeRequest& request) {
  switch (request.kind) {
    case ShapeKind::kRegex:
      return ReadPattern(request.text);
    case ShapeKind::kJsonSchema:
      return ReadJsonSchema(request.text);
    case ShapeKind::kJsonObject:
      return AnyJsonObject();
    case ShapeKind::kChoice:
      break;
  }
  return ReadChoices(request.choices);
}

}  // namespace

std::string NameOf(const ShapeRequest& request) {
  std::string name = std::to_string(static_cast<int>(request.kind)) + ":" + request.text;
  for (const std::string& choice : request.choices) {
    name += ":" + std::to_string(choice.size()) + ":" + choice;
  }
  return name;
}

StatusOr<std::shared_ptr<const TokenAutomaton>> Shapes::Compile(const ShapeRequest& request) {
  std::string name = NameOf(request);
  {
    const std::lock_guard guard(mutex_);
    const auto kept =
        std::ranges::find_if(recent_, [&](const auto& shape) { return shape->name() == name; });
    if (kept != recent_.end()) {
      recent_.splice(recent_.begin(), recent_, kept);
      return recent_.front();
    }
  }
  SUBMIX_ASSIGN_OR_RETURN(const Expression expression, Read(request));
  SUBMIX_ASSIGN_OR_RETURN(Automaton automaton, Automaton::Compile(expression));
  SUBMIX_ASSIGN_OR_RETURN(
      auto shape, TokenAutomaton::Create(std::move(automaton), vocabulary_, std::move(name)));
  const std::lock_guard guard(mutex_);
  recent_.push_front(shape);
  if (recent_.size() > kMostRecent) recent_.pop_back();
  return shape;
}

}  // namespace submix::shape

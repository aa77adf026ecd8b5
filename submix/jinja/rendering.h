// One rendering: all values that it makes, the first thing that went wrong, and how much it may
// still do. What fails gives an undefined value and says so here; the evaluator stops at the next
// step, so whatever lies between may go on with that value.
#pragma once

#include <cstddef>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/jinja/value.h"

namespace submix::jinja {

// About bytes of memory: a step of the evaluator counts 8, a character 2, a value 64. What is made
// stays until the end, so this bounds memory and time.
inline constexpr std::size_t kMostWork = std::size_t{1} << 26;
// Calls, loops, expressions and values within each other.
inline constexpr int kMostDepth = 200;
// Python's sandbox allows no more, either.
inline constexpr std::int64_t kMostRange = 100'000;

// One thread at a time.
class Rendering {
 public:
  explicit Rendering(std::time_t now) : now_(now) {}
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

  std::time_t now() const { return now_; }

  Value Make(Text text) {
    Charge(2 * text.size() + kValue);
    return Value(&texts_.emplace_back(std::move(text)));
  }
  Value MakeText(std::string_view bytes, Origin origin) { return Make(Text(bytes, origin)); }
  // A text that the program has, of which each is made once.
  Value MakeName(std::string_view bytes) { return MakeText(bytes, Origin::kTemplate); }
  Value MakeList(ValueList items) { return MakeItems(ValueKind::kList, std::move(items)); }
  Value MakeTuple(ValueList items) { return MakeItems(ValueKind::kTuple, std::move(items)); }
  Value MakeDict(Dict dict) { return MakeDictOf(ValueKind::kDict, std::move(dict)); }
  Value MakeNamespace(Dict dict) { return MakeDictOf(ValueKind::kNamespace, std::move(dict)); }
  Value MakeFunction(Function function) {
    Charge(kValue);
    return Value(&functions_.emplace_back(function));
  }
  Loop& MakeLoop(ValueList items, int depth) {
    Charge(kValue * (items.size() + 1));
    return loops_.emplace_back(Loop{std::move(items), 0, depth});
  }
  Scope& MakeScope(const Scope* outer) {
    Charge(kValue);
    return scopes_.emplace_back(Scope{outer});
  }

  // The first failure counts. Returns an undefined value.
  Value Fail(base::StatusCode code, std::string message);
  // What is wrong with the template, or the template with this conversation.
  Value Fail(std::string message) {
    return Fail(base::StatusCode::kFailedPrecondition, std::move(message));
  }
  // Jinja has it, this interpreter does not.
  Value Refuse(std::string message) {
    return Fail(base::StatusCode::kUnimplemented, std::move(message));
  }
  bool failed() const { return !status_.ok(); }
  const base::Status& status() const { return status_; }
  void set_line(int line) { line_ = line; }

  // Counts work; fails if that was too much.
  void Charge(std::size_t work);
  // How deep the evaluator, or who walks over a value, is. Fails if that is too deep.
  class Depth {
   public:
    explicit Depth(Rendering& rendering) : rendering_(rendering) {
      if (++rendering_.depth_ > kMostDepth) {
        rendering_.Fail("calls and values within each other are too deep");
      }
    }
    ~Depth() { --rendering_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Rendering& rendering_;
  };

 private:
  static constexpr std::size_t kValue = 64;

  Value MakeItems(ValueKind kind, ValueList items) {
    Charge(kValue * (items.size() + 1));
    return {kind, &items_.emplace_back(std::move(items))};
  }
  Value MakeDictOf(ValueKind kind, Dict dict) {
    Charge(2 * kValue * (dict.items.size() + 1));
    return {kind, &dicts_.emplace_back(std::move(dict))};
  }

  const std::time_t now_;
  std::deque<Text> texts_;
  std::deque<ValueList> items_;
  std::deque<Dict> dicts_;
  std::deque<Function> functions_;
  std::deque<Loop> loops_;
  std::deque<Scope> scopes_;
  base::Status status_;
  std::size_t work_ = 0;
  int depth_ = 0;
  int line_ = 0;
};

// What a call hands over, taken by position or name. Whoever is called takes all that it knows;
// what is left is an error.
class Arguments {
 public:
  Arguments(ValueList positional, std::vector<std::pair<std::string_view, Value>> named)
      : positional_(std::move(positional)), named_(std::move(named)) {}

  // The next one, or the one of that name; nothing if there is neither.
  std::optional<Value> Take(std::string_view name);
  Value TakeOr(std::string_view name, Value otherwise) { return Take(name).value_or(otherwise); }
  // All that are left.
  ValueList TakePositional();
  std::vector<std::pair<std::string_view, Value>> TakeNamed() { return std::exchange(named_, {}); }
  bool empty() const { return next_ == positional_.size() && named_.empty(); }

 private:
  ValueList positional_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::string_view, Value>> named_;
};

}  // namespace submix::jinja

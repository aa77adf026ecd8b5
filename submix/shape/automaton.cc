#include "submix/shape/automaton.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "submix/base/check.h"

namespace submix::shape {
namespace {

using base::StatusOr;

base::Status TooLarge(const std::string& what) {
  return base::InvalidArgumentError(
      "the shape is too large: " + what +
      "; ask for shorter lengths, fewer alternatives or less nesting");
}

// The classic construction of Thompson: an automaton that may be in several positions at once.
class Positions {
 public:
  struct Edge {
    int bytes = 0;  // an index into byte_sets()
    int target = 0;
  };

  explicit Positions(int limit) : limit_(limit) {}

  // False where there are too many positions.
  bool Build(const Expression& expression) {
    const int start = Add();
    end_ = Build(*expression, start);
    return !is_full();
  }

  int end() const { return end_; }
  std::size_t size() const { return edges_.size(); }
  const std::vector<Edge>& edges(int position) const { return edges_[Index(position)]; }
  const std::vector<int>& jumps(int position) const { return jumps_[Index(position)]; }
  const std::vector<ByteSet>& byte_sets() const { return byte_sets_; }

 private:
  using Kind = ExpressionNode::Kind;

  static std::size_t Index(int position) { return static_cast<std::size_t>(position); }
  bool is_full() const { return std::ssize(edges_) > limit_; }

  int Add() {
    edges_.emplace_back();
    jumps_.emplace_back();
    return static_cast<int>(edges_.size()) - 1;
  }

  void Jump(int from, int to) { jumps_[Index(from)].push_back(to); }

  int Read(const ByteSet& bytes, int from) {
    const auto [set, is_new] =
        set_numbers_.try_emplace(bytes.to_string(), static_cast<int>(byte_sets_.size()));
    if (is_new) byte_sets_.push_back(bytes);
    const int to = Add();
    edges_[Index(from)].push_back({set->second, to});
    return to;
  }

  int ReadText(std::string_view text, int from) {
    for (const char c : text) {
      if (is_full()) break;
      from = Read(ByteSet().set(static_cast<unsigned char>(c)), from);
    }
    return from;
  }

  // Where a text of the node that begins at `from` ends. Never leads back into `from`.
  int Build(const ExpressionNode& node, int from) {
    if (is_full()) return from;
    switch (node.kind) {
      case Kind::kBytes:
        return Read(node.bytes, from);
      case Kind::kText:
        return ReadText(node.text, from);
      case Kind::kConcat:
        for (const Expression& child : node.children) from = Build(*child, from);
        return from;
      case Kind::kAnyOf:
        return BuildAnyOf(node, from);
      case Kind::kRepeat:
        return BuildRepeat(node, from);
      case Kind::kMembers:
        return BuildMembers(node, from);
    }
    SUBMIX_CHECK(false, "a kind of expression");
  }

  int BuildAnyOf(const ExpressionNode& node, int from) {
    const int end = Add();
    for (const Expression& child : node.children) Jump(Build(*child, from), end);
    return end;
  }

  int BuildRepeat(const ExpressionNode& node, int from) {
    const int end = Add();
    if (node.least == 0) Jump(from, end);
    const int copies = node.most == kUnbounded ? std::max(node.least, 1) : node.most;
    int entry = from;
    for (int copy = 1; copy <= copies && !is_full(); ++copy) {
      if (copy > 1) from = ReadText(node.separator, from);
      entry = Add();
      Jump(from, entry);
      from = Build(*node.children.front(), entry);
      if (copy >= node.least) Jump(from, end);
    }
    if (node.most == kUnbounded) Jump(ReadText(node.separator, from), entry);
    return end;
  }

  // One copy of each member: it is entered from where none was written yet, and, behind a
  // separator, from where some were.
  int BuildMembers(const ExpressionNode& node, int from) {
    int none = from;
    int some = Automaton::kNone;
    for (std::size_t i = 0; i < node.children.size() && !is_full(); ++i) {
      const int entry = Add();
      const int after = Add();
      if (none != Automaton::kNone) Jump(none, entry);
      if (some != Automaton::kNone) Jump(ReadText(node.separator, some), entry);
      Jump(Build(*node.children[i], entry), after);
      if (node.is_required[i]) {
        none = Automaton::kNone;
      } else if (some != Automaton::kNone) {
        Jump(some, after);
      }
      some = after;
    }
    const int end = Add();
    if (none != Automaton::kNone) Jump(none, end);
    if (some != Automaton::kNone) Jump(some, end);
    return end;
  }

  const int limit_;
  int end_ = 0;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<int>> jumps_;
  std::vector<ByteSet> byte_sets_;
  std::unordered_map<std::string, int> set_numbers_;
};

// Which bytes no set tells apart, and the classes that each set consists of.
struct ByteClasses {
  std::array<std::uint8_t, 256> class_of{};
  std::size_t count = 0;
  std::vector<std::vector<std::uint8_t>> of_set;

  explicit ByteClasses(const std::vector<ByteSet>& sets) : of_set(sets.size()) {
    std::map<std::vector<bool>, std::uint8_t> numbers;
    std::vector<std::size_t> members;  // a byte of each class
    for (std::size_t b = 0; b < 256; ++b) {
      std::vector<bool> in(sets.size());
      for (std::size_t s = 0; s < sets.size(); ++s) in[s] = sets[s][b];
      const auto [number, is_new] =
          numbers.try_emplace(std::move(in), static_cast<std::uint8_t>(numbers.size()));
      if (is_new) members.push_back(b);
      class_of[b] = number->second;
    }
    count = members.size();
    for (std::size_t s = 0; s < sets.size(); ++s) {
      for (std::size_t c = 0; c < count; ++c) {
        if (sets[s][members[c]]) of_set[s].push_back(static_cast<std::uint8_t>(c));
      }
    }
  }
};

struct HashOfPositions {
  std::size_t operator()(const std::vector<int>& positions) const {
    std::size_t hash = positions.size();
    for (const int p : positions) hash = (hash ^ static_cast<std::size_t>(p)) * 0x9E3779B97F4A7C15U;
    return hash ^ hash >> 32;
  }
};

// Every set of positions that can be reached together is a state.
class Subsets {
 public:
  Subsets(const Positions& positions, const ByteClasses& classes, const AutomatonLimits& limits)
      : positions_(positions),
        classes_(classes),
        limits_(limits),
        seen_(positions.size(), Automaton::kNone),
        behind_(classes.count) {}

  base::Status Build() {
    StateOf({0});
    for (std::size_t state = 0; state < subsets_.size(); ++state) {
      if (std::ssize(subsets_) > limits_.states) {
        return TooLarge("more than " + std::to_string(limits_.states) + " states");
      }
      if (work_ > limits_.work) return TooLarge("it takes too long to compile");
      AddTransitions(*subsets_[state]);
    }
    return base::OkStatus();
  }

  std::vector<std::int32_t> TakeNext() { return std::move(next_); }
  std::vector<bool> TakeAccepting() { return std::move(is_accepting_); }

 private:
  void AddTransitions(const std::vector<int>& subset) {
    for (const int position : subset) {
      for (const Positions::Edge& edge : positions_.edges(position)) {
        for (const std::uint8_t c : classes_.of_set[static_cast<std::size_t>(edge.bytes)]) {
          behind_[c].push_back(edge.target);
          ++work_;
        }
      }
    }
    for (std::vector<int>& targets : behind_) {
      next_.push_back(targets.empty() ? Automaton::kNone : StateOf(targets));
      targets.clear();
    }
  }

  // The number of the state of these positions and of all that they jump to.
  int StateOf(const std::vector<int>& targets) {
    ++round_;
    closure_.clear();
    const auto visit = [&](int position) {
      int& seen = seen_[static_cast<std::size_t>(position)];
      if (seen == round_) return;
      seen = round_;
      closure_.push_back(position);
    };
    for (const int target : targets) visit(target);
    for (std::size_t i = 0; i < closure_.size(); ++i) {
      for (const int target : positions_.jumps(closure_[i])) visit(target);
    }
    work_ += std::ssize(closure_);
    // What only jumps tells no states apart.
    std::erase_if(closure_, [&](int position) {
      return position != positions_.end() && positions_.edges(position).empty();
    });
    std::ranges::sort(closure_);
    const auto [state, is_new] = numbers_.try_emplace(closure_, static_cast<int>(subsets_.size()));
    if (is_new) {
      subsets_.push_back(&state->first);
      is_accepting_.push_back(std::ranges::binary_search(closure_, positions_.end()));
    }
    return state->second;
  }

  const Positions& positions_;
  const ByteClasses& classes_;
  const AutomatonLimits limits_;
  std::int64_t work_ = 0;
  int round_ = 0;
  std::vector<int> seen_;  // [positions], the round
  std::vector<int> closure_;
  std::vector<std::vector<int>> behind_;  // [classes]
  std::unordered_map<std::vector<int>, int, HashOfPositions> numbers_;
  std::vector<const std::vector<int>*> subsets_;  // keys of numbers_, which stay where they are
  std::vector<std::int32_t> next_;
  std::vector<bool> is_accepting_;
};

// Turns transitions into kNone from which nothing accepted can be reached.
void RemoveDeadEnds(std::size_t classes, const std::vector<bool>& is_accepting,
                    std::vector<std::int32_t>& next) {
  std::vector<std::vector<std::int32_t>> before(is_accepting.size());
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i] < 0) continue;
    before[static_cast<std::size_t>(next[i])].push_back(static_cast<std::int32_t>(i / classes));
  }
  std::vector<bool> is_live = is_accepting;
  std::vector<std::size_t> found;
  for (std::size_t s = 0; s < is_live.size(); ++s) {
    if (is_live[s]) found.push_back(s);
  }
  while (!found.empty()) {
    const std::size_t state = found.back();
    found.pop_back();
    for (const std::int32_t b : before[state]) {
      const auto earlier = static_cast<std::size_t>(b);
      if (is_live[earlier]) continue;
      is_live[earlier] = true;
      found.push_back(earlier);
    }
  }
  for (std::int32_t& target : next) {
    if (target >= 0 && !is_live[static_cast<std::size_t>(target)]) target = Automaton::kNone;
  }
}

}  // namespace

StatusOr<Automaton> Automaton::Compile(const Expression& expression,
                                       const AutomatonLimits& limits) {
  Positions positions(limits.positions);
  if (!positions.Build(expression)) {
    return TooLarge("more than " + std::to_string(limits.positions) + " positions");
  }
  const ByteClasses classes(positions.byte_sets());
  Subsets subsets(positions, classes, limits);
  SUBMIX_RETURN_IF_ERROR(subsets.Build());
  Automaton automaton;
  automaton.class_of_ = classes.class_of;
  automaton.num_classes_ = classes.count;
  automaton.next_ = subsets.TakeNext();
  automaton.is_accepting_ = subsets.TakeAccepting();
  RemoveDeadEnds(automaton.num_classes_, automaton.is_accepting_, automaton.next_);
  const auto first = automaton.next_.begin();
  if (std::all_of(first, first + static_cast<std::ptrdiff_t>(classes.count),
                  [](std::int32_t target) { return target == kNone; })) {
    return base::InvalidArgumentError(automaton.accepts(0) ? "only the empty text has the shape"
                                                           : "no text has the shape");
  }
  return automaton;
}

bool Automaton::IsComplete(int state) const {
  const auto begin = next_.begin() +
                     static_cast<std::ptrdiff_t>(state) * static_cast<std::ptrdiff_t>(num_classes_);
  return accepts(state) && std::all_of(begin, begin + static_cast<std::ptrdiff_t>(num_classes_),
                                       [](std::int32_t target) { return target == kNone; });
}

std::optional<unsigned char> Automaton::ForcedByte(int state) const {
  if (accepts(state)) return std::nullopt;
  std::optional<unsigned char> forced;
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<unsigned char>(b);
    if (Next(state, byte) == kNone) continue;
    if (forced) return std::nullopt;
    forced = byte;
  }
  return forced;
}

}  // namespace submix::shape

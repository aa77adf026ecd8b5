#include "submix/shape/token_automaton.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "submix/base/check.h"

namespace submix::shape {
namespace {

// Of all states of a shape; 32 MiB.
constexpr std::size_t kMostKeptChoices = std::size_t{1} << 22;

// What a byte that is no token by itself costs a completion: it is avoided where that is possible.
constexpr int kUnspelledByte = 1024;

// A byte of each class, and what it costs.
struct ClassByte {
  unsigned char byte = 0;
  int cost = kUnspelledByte;
};

std::vector<ClassByte> BytesOfClasses(const Automaton& bytes, const Vocabulary& vocabulary) {
  std::vector<ClassByte> classes(bytes.num_classes());
  for (int b = 255; b >= 0; --b) {
    const auto byte = static_cast<unsigned char>(b);
    const auto range = vocabulary.Narrow({0, vocabulary.size()}, 0, byte);
    const bool is_token = range.first < range.last && vocabulary.bytes(range.first).size() == 1;
    ClassByte& of_class = classes[bytes.class_of(byte)];
    if (is_token || of_class.cost == kUnspelledByte) {
      of_class = {byte, is_token ? 1 : kUnspelledByte};
    }
  }
  return classes;
}

}  // namespace

base::StatusOr<std::shared_ptr<const TokenAutomaton>> TokenAutomaton::Create(
    Automaton bytes, std::shared_ptr<const Vocabulary> vocabulary, std::string name) {
  const std::shared_ptr<TokenAutomaton> shape(
      new TokenAutomaton(std::move(bytes), std::move(vocabulary), std::move(name)));
  for (const int state : shape->PlanBytes()) {
    shape->PlanForcedBytes(state);
    shape->PlanTokens(state);
  }
  if (shape->TokensNeeded(shape->start()) == kNever) {
    return base::InvalidArgumentError(
        "the model's tokens cannot spell the shape: it has characters that the vocabulary lacks");
  }
  return std::shared_ptr<const TokenAutomaton>(shape);
}

std::vector<int> TokenAutomaton::PlanBytes() {
  plans_.resize(static_cast<std::size_t>(bytes_.num_states()));
  const std::vector<ClassByte> classes = BytesOfClasses(bytes_, *vocabulary_);
  struct Edge {
    int from = 0;
    ClassByte by;
  };
  std::vector<std::vector<Edge>> before(plans_.size());
  for (int state = 0; state < bytes_.num_states(); ++state) {
    for (const ClassByte& by : classes) {
      const int next = bytes_.Next(state, by.byte);
      if (next != Automaton::kNone) before[static_cast<std::size_t>(next)].push_back({state, by});
    }
  }
  // Dijkstra's search, from all accepting states backwards.
  std::vector<std::int64_t> cost(plans_.size(), std::numeric_limits<std::int64_t>::max());
  using Reached = std::pair<std::int64_t, int>;
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> open;
  for (int state = 0; state < bytes_.num_states(); ++state) {
    if (!bytes_.accepts(state)) continue;
    cost[static_cast<std::size_t>(state)] = 0;
    open.emplace(0, state);
  }
  std::vector<int> order;
  while (!open.empty()) {
    const auto [reached, state] = open.top();
    open.pop();
    if (reached != cost[static_cast<std::size_t>(state)]) continue;
    order.push_back(state);
    for (const Edge& edge : before[static_cast<std::size_t>(state)]) {
      std::int64_t& least = cost[static_cast<std::size_t>(edge.from)];
      if (reached + edge.by.cost >= least) continue;
      least = reached + edge.by.cost;
      plan(edge.from).step = state;
      plan(edge.from).byte = edge.by.byte;
      open.emplace(least, edge.from);
    }
  }
  return order;
}

void TokenAutomaton::PlanForcedBytes(int state) {
  const std::optional<unsigned char> forced = bytes_.ForcedByte(state);
  if (!forced) return;
  const int behind = plan(bytes_.Next(state, *forced)).forced_bytes;
  // Where a choice follows, models begin words with the space before them.
  plan(state).forced_bytes = *forced == ' ' && behind == 0 ? 0 : behind + 1;
}

void TokenAutomaton::PlanTokens(int state) {
  Plan& here = plan(state);
  if (bytes_.accepts(state)) {
    here.needed = 0;
    return;
  }
  // Along the completion, token by token that it begins with; of equals the longest.
  int at = state;
  Vocabulary::Range range{0, vocabulary_->size()};
  for (std::size_t depth = 0; at != Automaton::kNone; ++depth) {
    const bool is_token =
        depth > 0 && range.first < range.last && vocabulary_->bytes(range.first).size() == depth;
    const bool is_forced = static_cast<int>(depth) <= here.forced_bytes;
    if (is_token && plan(at).needed != kNever && plan(at).needed < here.needed &&
        (is_forced || !here.forced)) {
      here.needed = plan(at).needed + 1;
      if (is_forced) here.forced = vocabulary_->token(range.first);
    }
    if (bytes_.accepts(at) || range.first == range.last) return;
    range = vocabulary_->Narrow(range, depth, plan(at).byte);
    at = plan(at).step;
  }
}

int TokenAutomaton::Next(int state, base::TokenId token) const {
  const std::string_view text = vocabulary_->Bytes(token);
  if (text.empty()) return Automaton::kNone;
  for (const char c : text) {
    if (state == Automaton::kNone) break;
    state = bytes_.Next(state, static_cast<unsigned char>(c));
  }
  return state;
}

std::vector<base::TokenId> TokenAutomaton::Allowed(int state, int left) const {
  const Plan& here = plans_[static_cast<std::size_t>(state)];
  if (here.forced) return {*here.forced};
  const Choices choices = ChoicesAt(state);  // held: others may drop what is kept
  std::vector<base::TokenId> tokens;
  for (const Choice& choice : *choices) {
    if (TokensNeeded(choice.next) < left) tokens.push_back(choice.token);
  }
  return tokens;
}

TokenAutomaton::Choices TokenAutomaton::ChoicesAt(int state) const {
  {
    const std::lock_guard guard(mutex_);
    if (const auto kept = choices_.find(state); kept != choices_.end()) return kept->second;
  }
  auto found = std::make_shared<const std::vector<Choice>>(FindChoices(state));
  const std::lock_guard guard(mutex_);
  if (kept_ + found->size() > kMostKeptChoices) {
    choices_.clear();
    kept_ = 0;
  }
  if (choices_.emplace(state, found).second) kept_ += found->size();
  return found;
}

std::vector<TokenAutomaton::Choice> TokenAutomaton::FindChoices(int state) const {
  std::vector<int> next(vocabulary_->num_tokens(), Automaton::kNone);   // behind each token
  std::vector<int> path(vocabulary_->longest() + 1, Automaton::kNone);  // behind each byte
  path.front() = state;
  std::size_t dead_end = vocabulary_->longest();  // the first byte that nothing goes on with
  for (std::size_t rank = 0; rank < vocabulary_->size(); ++rank) {
    const std::size_t common = vocabulary_->common(rank);
    if (common > dead_end) continue;
    const std::string_view text = vocabulary_->bytes(rank);
    dead_end = vocabulary_->longest();
    for (std::size_t i = common; i < text.size(); ++i) {
      path[i + 1] = bytes_.Next(path[i], static_cast<unsigned char>(text[i]));
      if (path[i + 1] != Automaton::kNone) continue;
      dead_end = i;
      break;
    }
    if (dead_end == vocabulary_->longest()) {
      next[static_cast<std::size_t>(vocabulary_->token(rank))] = path[text.size()];
    }
  }
  std::vector<Choice> choices;
  for (std::size_t t = 0; t < next.size(); ++t) {
    if (next[t] != Automaton::kNone) choices.push_back({static_cast<base::TokenId>(t), next[t]});
  }
  return choices;
}

}  // namespace submix::shape

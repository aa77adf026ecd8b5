#include "submix/jinja/evaluator.h"

#include <algorithm>
#include <string>
#include <utility>

#include "submix/base/json_object.h"
#include "submix/jinja/operators.h"
#include "submix/jinja/python_text.h"

namespace submix::jinja {
namespace {

constexpr std::size_t kStep = 8;

}  // namespace

// --- Statements

void Evaluator::Run(const Body& body, Text& out) { RunBody(body, out); }

void Evaluator::Write(const Value& value, Text& out) {
  const Text text = Str(rendering_, value);
  rendering_.Charge(2 * text.size());
  if (!rendering_.failed()) out.Append(text);
}

Evaluator::Flow Evaluator::RunBody(const Body& body, Text& out) {
  for (const Statement& statement : body) {
    rendering_.Charge(kStep);
    rendering_.set_line(statement.line);
    if (rendering_.failed()) break;
    const Flow flow = RunStatement(statement, out);
    if (flow != Flow::kOn) return flow;
  }
  return Flow::kOn;
}

Evaluator::Flow Evaluator::RunStatement(const Statement& statement, Text& out) {
  using Is = Statement::Kind;
  switch (statement.kind) {
    case Is::kData:
      Write(Value(&statement.text), out);
      break;
    case Is::kOutput:
      Write(Evaluate(*statement.value), out);
      break;
    case Is::kIf:
      return RunIf(statement, out);
    case Is::kFor:
      return RunFor(statement, out);
    case Is::kSet:
      Assign(*statement.target, Evaluate(*statement.value));
      break;
    case Is::kSetBlock: {
      const Value written = Captured(statement.body);
      Assign(*statement.target,
             statement.value == nullptr ? written : EvaluateNamed(*statement.value, written));
      break;
    }
    case Is::kMacro:
      scope_->Set(
          statement.name,
          rendering_.MakeFunction({.name = statement.name, .macro = &statement, .scope = scope_}));
      break;
    case Is::kCall:
      RunCall(statement, out);
      break;
    case Is::kFilter:
      Write(EvaluateNamed(*statement.value, Captured(statement.body)), out);
      break;
    case Is::kScope:
      RunScope(statement, out);
      break;
    case Is::kBreak:
      return Flow::kBreak;
    case Is::kContinue:
      return Flow::kContinue;
  }
  return Flow::kOn;
}

Evaluator::Flow Evaluator::RunIf(const Statement& statement, Text& out) {
  for (const auto& [condition, body] : statement.branches) {
    const bool holds = IsTrue(Evaluate(*condition));
    if (rendering_.failed()) return Flow::kOn;
    if (holds) return RunBody(body, out);
  }
  return RunBody(statement.otherwise, out);
}

ValueList Evaluator::Filtered(const Statement& statement, ValueList items) {
  if (statement.condition == nullptr) return items;
  Scope* const outer = scope_;
  ValueList kept;
  for (const Value& item : items) {
    if (rendering_.failed()) break;
    scope_ = &rendering_.MakeScope(outer);
    Assign(*statement.target, item);
    if (IsTrue(Evaluate(*statement.condition))) kept.push_back(item);
  }
  scope_ = outer;
  return kept;
}

Evaluator::Flow Evaluator::RunFor(const Statement& statement, Text& out) {
  ValueList items = Filtered(statement, Iterate(rendering_, Evaluate(*statement.value)));
  if (rendering_.failed()) return Flow::kOn;
  if (items.empty()) return RunBody(statement.otherwise, out);
  Scope* const outer = scope_;
  const Rendering::Depth depth(rendering_);
  Loop& loop = rendering_.MakeLoop(std::move(items), ++loop_depth_);
  for (; loop.index < loop.items.size() && !rendering_.failed(); ++loop.index) {
    scope_ = &rendering_.MakeScope(outer);
    scope_->Set("loop", Value(&loop));
    Assign(*statement.target, loop.items[loop.index]);
    if (RunBody(statement.body, out) == Flow::kBreak) break;
  }
  --loop_depth_;
  scope_ = outer;
  return Flow::kOn;
}

void Evaluator::RunScope(const Statement& statement, Text& out) {
  Scope* const outer = scope_;
  Scope& inner = rendering_.MakeScope(outer);
  for (const auto& [name, value] : statement.parameters) inner.Set(name, Evaluate(*value));
  scope_ = &inner;
  RunBody(statement.body, out);
  scope_ = outer;
}

void Evaluator::RunCall(const Statement& statement, Text& out) {
  const Value caller =
      rendering_.MakeFunction({.name = "caller", .macro = &statement, .scope = scope_});
  Write(EvaluateCall(*statement.value, &caller), out);
}

Value Evaluator::Captured(const Body& body) {
  Scope* const outer = scope_;
  scope_ = &rendering_.MakeScope(outer);
  Text written;
  RunBody(body, written);
  scope_ = outer;
  return rendering_.Make(std::move(written));
}

void Evaluator::Assign(const Expression& target, const Value& value) {
  if (rendering_.failed()) return;
  if (target.kind == Expression::Kind::kName) {
    scope_->Set(target.text.bytes(), value);
    return;
  }
  if (target.kind == Expression::Kind::kAttribute) {
    const Value space = Evaluate(*target.children[0]);
    if (space.Is(ValueKind::kNamespace)) {
      SetKey(rendering_, space.dict(), Value(&target.text), value);
    } else {
      rendering_.Fail("only a namespace's attributes can be set");
    }
    return;
  }
  const ValueList items = Iterate(rendering_, value);
  if (target.kind != Expression::Kind::kTuple || items.size() != target.children.size()) {
    rendering_.Fail("there are not as many values as names for them");
    return;
  }
  for (std::size_t i = 0; i < items.size(); ++i) Assign(*target.children[i], items[i]);
}

// --- Expressions

Value Evaluator::Evaluate(const Expression& expression) {
  const Rendering::Depth depth(rendering_);
  rendering_.Charge(kStep);
  if (rendering_.failed()) return {};
  using Is = Expression::Kind;
  const auto child = [&](std::size_t i) { return Evaluate(*expression.children[i]); };
  switch (expression.kind) {
    case Is::kConstant:
      return expression.value;
    case Is::kText:
      return Value(&expression.text);
    case Is::kName:
      return EvaluateName(expression.text);
    case Is::kList:
    case Is::kTuple: {
      ValueList items;
      for (const auto& each : expression.children) items.push_back(Evaluate(*each));
      return expression.kind == Is::kList ? rendering_.MakeList(std::move(items))
                                          : rendering_.MakeTuple(std::move(items));
    }
    case Is::kDict:
      return EvaluateDict(expression);
    case Is::kNot:
      return Value::Boolean(!IsTrue(child(0)));
    case Is::kNegative:
      return Negative(rendering_, child(0));
    case Is::kPositive:
      return Operate(rendering_, "+", Value::Integer(0), child(0));
    case Is::kAnd:
    case Is::kOr: {
      const Value left = child(0);
      return IsTrue(left) == (expression.kind == Is::kOr) ? left : child(1);
    }
    case Is::kBinary: {
      const Value left = child(0);
      const Value right = child(1);
      if (rendering_.failed()) return {};
      return Operate(rendering_, expression.text.bytes(), left, right);
    }
    case Is::kCompare:
      return EvaluateComparison(expression);
    case Is::kConditional:
      return EvaluateConditional(expression);
    case Is::kAttribute: {
      const Value value = child(0);
      return rendering_.failed() ? Value() : GetAttribute(rendering_, value, expression.text);
    }
    case Is::kItem: {
      const Value value = child(0);
      const Value key = child(1);
      return rendering_.failed() ? Value() : GetItem(rendering_, value, key);
    }
    case Is::kSlice:
      return EvaluateSlice(expression);
    case Is::kCall:
      return EvaluateCall(expression, nullptr);
    case Is::kSpread:  // only among arguments
      break;
    case Is::kFilter:
    case Is::kTest:
      return EvaluateNamed(expression, {});
  }
  return {};
}

Value Evaluator::EvaluateName(const Text& name) {
  if (const Value* found = scope_->Find(name.bytes())) return *found;
  if (const Function* function = FindFunction(name.bytes())) {
    return rendering_.MakeFunction(*function);
  }
  return Value::Undefined(&name);
}

Value Evaluator::EvaluateDict(const Expression& expression) {
  Dict dict;
  for (std::size_t i = 0; i < expression.children.size(); i += 2) {
    const Value key = Evaluate(*expression.children[i]);
    SetKey(rendering_, dict, key, Evaluate(*expression.children[i + 1]));
  }
  return rendering_.MakeDict(std::move(dict));
}

// "a < b < c": both must hold.
Value Evaluator::EvaluateComparison(const Expression& expression) {
  Value left = Evaluate(*expression.children[0]);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    const std::string& op = expression.operators[i];
    const Value right = Evaluate(*expression.children[i + 1]);
    if (rendering_.failed()) return {};
    bool holds = false;
    if (op == "==" || op == "!=") {
      holds = AreEqual(rendering_, left, right) == (op == "==");
    } else if (op == "in" || op == "not in") {
      holds = HasItem(rendering_, right, left) == (op == "in");
    } else {
      const int order = Compare(rendering_, left, right);
      holds = order == 0 ? op.size() == 2 : (order < 0) == (op[0] == '<');
    }
    if (!holds) return Value::Boolean(false);
    left = right;
  }
  return Value::Boolean(true);
}

Value Evaluator::EvaluateConditional(const Expression& expression) {
  const bool holds = IsTrue(Evaluate(*expression.children[0]));
  const ExpressionPtr& chosen = expression.children[holds ? 1 : 2];
  return rendering_.failed() || chosen == nullptr ? Value() : Evaluate(*chosen);
}

Value Evaluator::EvaluateSlice(const Expression& expression) {
  const auto part = [&](std::size_t i) {
    const ExpressionPtr& each = expression.children[i];
    return each == nullptr ? Value::None() : Evaluate(*each);
  };
  const Value value = part(0);
  const Value begin = part(1);
  const Value end = part(2);
  const Value step = part(3);
  return rendering_.failed() ? Value() : Slice(rendering_, value, begin, end, step);
}

Arguments Evaluator::ArgumentsOf(const Expression& call) {
  ValueList positional;
  std::vector<std::pair<std::string_view, Value>> named;
  for (std::size_t i = 1; i < call.children.size(); ++i) {
    const Expression& argument = *call.children[i];
    const bool is_spread = argument.kind == Expression::Kind::kSpread;
    const Value value = Evaluate(is_spread ? *argument.children[0] : argument);
    if (is_spread && argument.text.bytes() == "**" && value.Is(ValueKind::kDict)) {
      for (const auto& [name, each] : value.dict().items) {
        if (name.Is(ValueKind::kText)) named.emplace_back(name.bytes(), each);
      }
    } else if (is_spread) {
      const ValueList items = Iterate(rendering_, value);
      positional.insert(positional.end(), items.begin(), items.end());
    } else if (call.names[i - 1].empty()) {
      positional.push_back(value);
    } else {
      named.emplace_back(call.names[i - 1], value);
    }
  }
  return {std::move(positional), std::move(named)};
}

Value Evaluator::EvaluateCall(const Expression& expression, const Value* caller) {
  const Value what = Evaluate(*expression.children[0]);
  Arguments arguments = ArgumentsOf(expression);
  if (rendering_.failed()) return {};
  if (what.Is(ValueKind::kUndefined)) return FailUndefined(rendering_, what);
  if (!what.Is(ValueKind::kFunction)) {
    return rendering_.Fail(std::string(TypeName(what)) + " cannot be called");
  }
  const Function& function = what.function();
  if (function.macro != nullptr) return CallMacro(function, arguments, caller);
  return CallBuiltin(rendering_, function.name, function.builtin, function.self, arguments);
}

Value Evaluator::EvaluateNamed(const Expression& expression, const Value& what) {
  const ExpressionPtr& first = expression.children[0];
  const Value self = first == nullptr                           ? what
                     : first->kind == Expression::Kind::kFilter ? EvaluateNamed(*first, what)
                                                                : Evaluate(*first);
  Arguments arguments = ArgumentsOf(expression);
  const std::string& name = expression.text.bytes();
  const bool is_filter = expression.kind == Expression::Kind::kFilter;
  const Builtin builtin = is_filter ? FindFilter(name) : FindTest(name);
  if (builtin == nullptr) {
    return rendering_.Refuse((is_filter ? "the filter " : "the test ") + base::Quoted(name) +
                             " is not supported");
  }
  return CallBuiltin(rendering_, name, builtin, self, arguments);
}

Value Evaluator::CallMacro(const Function& macro, Arguments& arguments, const Value* caller) {
  Scope* const outer = scope_;
  Scope& inner = rendering_.MakeScope(macro.scope);
  if (caller != nullptr) inner.Set("caller", *caller);
  scope_ = &inner;
  for (const auto& [name, otherwise] : macro.macro->parameters) {
    const auto given = arguments.Take(name);
    inner.Set(name, given ? *given : otherwise == nullptr ? Value() : Evaluate(*otherwise));
  }
  Value written;
  if (!arguments.empty()) {
    rendering_.Fail("the macro " + base::Quoted(macro.name) + " does not take so many arguments");
  } else if (!rendering_.failed()) {
    Text text;
    RunBody(macro.macro->body, text);
    written = rendering_.Make(std::move(text));
  }
  scope_ = outer;
  return written;
}

}  // namespace submix::jinja

// Runs a template's tree. One rendering, one thread.
#pragma once

#include <string_view>

#include "submix/jinja/builtins.h"
#include "submix/jinja/rendering.h"
#include "submix/jinja/syntax.h"

namespace submix::jinja {

class Evaluator {
 public:
  // `globals` is the outermost scope.
  Evaluator(Rendering& rendering, Scope& globals) : rendering_(rendering), scope_(&globals) {}

  // Writes onto `out`.
  void Run(const Body& body, Text& out);

 private:
  enum class Flow { kOn, kBreak, kContinue };

  // --- Statements
  Flow RunBody(const Body& body, Text& out);
  Flow RunStatement(const Statement& statement, Text& out);
  Flow RunIf(const Statement& statement, Text& out);
  Flow RunFor(const Statement& statement, Text& out);
  void RunScope(const Statement& statement, Text& out);
  void RunCall(const Statement& statement, Text& out);
  // What a body writes, in a scope of its own.
  Value Captured(const Body& body);
  void Assign(const Expression& target, const Value& value);
  // Items of a `for` that its condition lets pass.
  ValueList Filtered(const Statement& statement, ValueList items);
  void Write(const Value& value, Text& out);

  // --- Expressions
  Value Evaluate(const Expression& expression);
  Value EvaluateName(const Text& name);
  Value EvaluateDict(const Expression& expression);
  Value EvaluateComparison(const Expression& expression);
  Value EvaluateConditional(const Expression& expression);
  Value EvaluateSlice(const Expression& expression);
  Value EvaluateCall(const Expression& expression, const Value* caller);
  // A filter or a test; `what` stands for a first child that is null.
  Value EvaluateNamed(const Expression& expression, const Value& what);
  Value CallMacro(const Function& macro, Arguments& arguments, const Value* caller);
  Arguments ArgumentsOf(const Expression& call);

  Rendering& rendering_;
  Scope* scope_;
  int loop_depth_ = 0;
};

}  // namespace submix::jinja

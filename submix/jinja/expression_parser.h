// The tokens of a tag as an expression: Jinja's grammar, precedence by precedence.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"
#include "submix/jinja/lexer.h"
#include "submix/jinja/syntax.h"

namespace submix::jinja {

// The first error counts, as in a rendering: what fails gives null or nothing, and whoever parses
// in a loop looks at failed().
class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  // One or more, a tuple if there is a comma. `with_condition`: "a if b else c" too.
  ExpressionPtr ParseTuple(bool with_condition = true);
  ExpressionPtr ParseExpression();
  // What is before "if" in a `for`.
  ExpressionPtr ParseOr();
  // Names, tuples of names, or an attribute of a name.
  ExpressionPtr ParseTarget();
  // "name(arguments) | name …" of a filter block; the first filter's child is null.
  ExpressionPtr ParseFilters();

  const Token& current() const { return tokens_[at_]; }
  bool Sees(TokenKind kind, std::string_view text) const {
    return current().kind == kind && current().text == text;
  }
  bool SeesOperator(std::string_view text) const { return Sees(TokenKind::kOperator, text); }
  bool SeesName(std::string_view text) const { return Sees(TokenKind::kName, text); }
  void Advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool Skip(std::string_view name_or_operator);
  void Expect(std::string_view operator_text);
  void Expect(TokenKind kind, std::string_view what);
  std::string ExpectName();

  ExpressionPtr Fail(const std::string& problem,
                     base::StatusCode code = base::StatusCode::kInvalidArgument);
  bool failed() const { return !status_.ok(); }
  const base::Status& status() const { return status_; }

  // Nesting, of expressions and statements: counted while they are parsed.
  class Depth {
   public:
    explicit Depth(ExpressionParser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostNesting) parser_.Fail("the template is nested too deeply");
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  static constexpr int kMostNesting = 300;

  std::string Found() const;
  ExpressionPtr ParseConditional();
  ExpressionPtr ParseAnd();
  ExpressionPtr ParseNot();
  ExpressionPtr ParseComparison();
  ExpressionPtr ParseBinary(int level);
  ExpressionPtr ParseUnary(bool with_filters);
  ExpressionPtr ParsePrimary();
  ExpressionPtr ParseNameOrConstant();
  ExpressionPtr ParseString();
  ExpressionPtr ParseNumber();
  ExpressionPtr ParseBracketed();
  ExpressionPtr ParsePostfix(ExpressionPtr what);
  ExpressionPtr ParseFiltersAndTests(ExpressionPtr what);
  ExpressionPtr ParseFilter(ExpressionPtr what);
  ExpressionPtr ParseTest(ExpressionPtr what);
  ExpressionPtr ParseAttribute(ExpressionPtr what);
  ExpressionPtr ParseItem(ExpressionPtr what);
  // "(…)" onto the children and names.
  void ParseArguments(Expression& call);
  ExpressionPtr ParseCall(ExpressionPtr what);
  // Counts the tree's depth: a chain of operators nests without recursion.
  ExpressionPtr Made(Expression expression);
  template <typename... Children>
  ExpressionPtr MadeOf(Expression::Kind kind, std::string_view text, Children... children);

  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  base::Status status_;
};

}  // namespace submix::jinja

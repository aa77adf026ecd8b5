#include "submix/jinja/expression_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include "submix/base/json_object.h"

namespace submix::jinja {
namespace {

// Deeper chains of operators are refused, as Python's parser would at last.
constexpr int kMostTreeDepth = 150;

}  // namespace

// --- Tokens

bool ExpressionParser::Skip(std::string_view text) {
  if (!SeesOperator(text) && !SeesName(text)) return false;
  Advance();
  return true;
}

std::string ExpressionParser::Found() const {
  const bool is_end = current().text.empty() && current().kind != TokenKind::kString;
  return is_end ? "the end of the tag" : base::Quoted(current().text);
}

void ExpressionParser::Expect(std::string_view operator_text) {
  if (SeesOperator(operator_text)) return Advance();
  Fail("expected " + base::Quoted(operator_text) + ", found " + Found());
}

void ExpressionParser::Expect(TokenKind kind, std::string_view what) {
  if (current().kind == kind) return Advance();
  Fail("expected " + std::string(what) + ", found " + Found());
}

std::string ExpressionParser::ExpectName() {
  const std::string name = current().text;
  Expect(TokenKind::kName, "a name");
  return name;
}

ExpressionPtr ExpressionParser::Fail(const std::string& problem, base::StatusCode code) {
  if (!failed()) {
    status_ = base::Status(code, "line " + std::to_string(current().line) + ": " + problem);
  }
  return nullptr;
}

// --- Trees

ExpressionPtr ExpressionParser::Made(Expression expression) {
  for (const ExpressionPtr& child : expression.children) {
    if (child != nullptr) expression.depth = std::max(expression.depth, child->depth + 1);
  }
  if (expression.depth > kMostTreeDepth) return Fail("an expression is nested too deeply");
  if (failed()) return nullptr;
  return std::make_unique<const Expression>(std::move(expression));
}

template <typename... Children>
ExpressionPtr ExpressionParser::MadeOf(Expression::Kind kind, std::string_view text,
                                       Children... children) {
  Expression made{.kind = kind, .text = Text(text, Origin::kTemplate)};
  (made.children.push_back(std::move(children)), ...);
  return Made(std::move(made));
}

// --- Precedences, the loosest first

ExpressionPtr ExpressionParser::ParseTuple(bool with_condition) {
  Expression tuple{.kind = Expression::Kind::kTuple};
  bool is_tuple = false;
  while (!failed() && current().kind != TokenKind::kEndOutput &&
         current().kind != TokenKind::kEndBlock && !SeesOperator(")") && !SeesName("recursive")) {
    tuple.children.push_back(with_condition ? ParseExpression() : ParseOr());
    if (!Skip(",")) break;
    is_tuple = true;
  }
  if (tuple.children.empty()) return Fail("expected an expression, found " + Found());
  return is_tuple ? Made(std::move(tuple)) : std::move(tuple.children.front());
}

ExpressionPtr ExpressionParser::ParseExpression() {
  const Depth depth(*this);
  if (failed()) return nullptr;
  ExpressionPtr value = ParseOr();
  while (!failed() && Skip("if")) {
    ExpressionPtr condition = ParseOr();
    ExpressionPtr otherwise = Skip("else") ? ParseExpression() : nullptr;
    value = MadeOf(Expression::Kind::kConditional, "", std::move(condition), std::move(value),
                   std::move(otherwise));
  }
  return value;
}

ExpressionPtr ExpressionParser::ParseOr() {
  ExpressionPtr left = ParseAnd();
  while (!failed() && Skip("or"))
    left = MadeOf(Expression::Kind::kOr, "", std::move(left), ParseAnd());
  return left;
}

ExpressionPtr ExpressionParser::ParseAnd() {
  ExpressionPtr left = ParseNot();
  while (!failed() && Skip("and"))
    left = MadeOf(Expression::Kind::kAnd, "", std::move(left), ParseNot());
  return left;
}

ExpressionPtr ExpressionParser::ParseNot() {
  const Depth depth(*this);
  if (failed()) return nullptr;
  return Skip("not") ? MadeOf(Expression::Kind::kNot, "", ParseNot()) : ParseComparison();
}

ExpressionPtr ExpressionParser::ParseComparison() {
  constexpr std::array<std::string_view, 7> kOperators = {"==", "!=", "<=", ">=", "<", ">", "in"};
  Expression comparison{.kind = Expression::Kind::kCompare};
  comparison.children.push_back(ParseBinary(0));
  while (!failed()) {
    const auto found = std::ranges::find_if(
        kOperators, [this](auto each) { return SeesOperator(each) || SeesName(each); });
    const bool is_not_in = SeesName("not") && at_ + 1 < tokens_.size() &&
                           tokens_[at_ + 1].kind == TokenKind::kName &&
                           tokens_[at_ + 1].text == "in";
    if (found == kOperators.end() && !is_not_in) break;
    comparison.operators.emplace_back(is_not_in ? "not in" : *found);
    if (is_not_in) Advance();
    Advance();
    comparison.children.push_back(ParseBinary(0));
  }
  if (comparison.operators.empty()) return std::move(comparison.children.front());
  return Made(std::move(comparison));
}

// Sums, then what "~" joins, products, powers: all group to the left, in Jinja even the last.
ExpressionPtr ExpressionParser::ParseBinary(int level) {
  static constexpr std::array<std::string_view, 2> kSums = {"+", "-"};
  static constexpr std::array<std::string_view, 1> kJoins = {"~"};
  static constexpr std::array<std::string_view, 4> kProducts = {"*", "/", "//", "%"};
  static constexpr std::array<std::string_view, 1> kPowers = {"**"};
  static constexpr std::array<std::span<const std::string_view>, 4> kLevels = {kSums, kJoins,
                                                                               kProducts, kPowers};
  if (level == std::ssize(kLevels)) return ParseUnary(/*with_filters=*/true);
  ExpressionPtr left = ParseBinary(level + 1);
  while (!failed()) {
    const auto& operators = kLevels[static_cast<std::size_t>(level)];
    const auto found =
        std::ranges::find_if(operators, [this](auto each) { return SeesOperator(each); });
    if (found == operators.end()) break;
    Advance();
    left = MadeOf(Expression::Kind::kBinary, *found, std::move(left), ParseBinary(level + 1));
  }
  return left;
}

ExpressionPtr ExpressionParser::ParseUnary(bool with_filters) {
  const Depth depth(*this);
  if (failed()) return nullptr;
  ExpressionPtr value;
  if (Skip("-")) {
    value = MadeOf(Expression::Kind::kNegative, "", ParseUnary(false));
  } else if (Skip("+")) {
    value = MadeOf(Expression::Kind::kPositive, "", ParseUnary(false));
  } else {
    value = ParsePrimary();
  }
  value = ParsePostfix(std::move(value));
  return with_filters ? ParseFiltersAndTests(std::move(value)) : std::move(value);
}

// --- Primaries

ExpressionPtr ExpressionParser::ParsePrimary() {
  switch (current().kind) {
    case TokenKind::kName:
      return ParseNameOrConstant();
    case TokenKind::kString:
      return ParseString();
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return ParseNumber();
    default:
      return ParseBracketed();
  }
}

ExpressionPtr ExpressionParser::ParseNameOrConstant() {
  const std::string name = ExpectName();
  Expression constant{.kind = Expression::Kind::kConstant};
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    constant.value = Value::Boolean(name == "true" || name == "True");
  } else if (name == "none" || name == "None") {
    constant.value = Value::None();
  } else {
    return MadeOf(Expression::Kind::kName, name);
  }
  return Made(std::move(constant));
}

// Those side by side are one.
ExpressionPtr ExpressionParser::ParseString() {
  std::string text;
  for (; current().kind == TokenKind::kString; Advance()) text += current().text;
  return MadeOf(Expression::Kind::kText, text);
}

ExpressionPtr ExpressionParser::ParseNumber() {
  const std::string& text = current().text;
  Expression constant{.kind = Expression::Kind::kConstant};
  const char* const end = text.data() + text.size();
  if (current().kind == TokenKind::kInteger) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc()) {
      return Fail("the number " + base::Quoted(text) + " is too large");
    }
    constant.value = Value::Integer(value);
  } else {
    double value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc()) {
      return Fail("the number " + base::Quoted(text) + " is too large");
    }
    constant.value = Value::Float(value);
  }
  Advance();
  return Made(std::move(constant));
}

ExpressionPtr ExpressionParser::ParseBracketed() {
  if (Skip("(")) {
    if (Skip(")")) return Made({.kind = Expression::Kind::kTuple});
    ExpressionPtr value = ParseTuple();
    Expect(")");
    return value;
  }
  const bool is_dict = SeesOperator("{");
  if (!is_dict && !SeesOperator("[")) return Fail("expected an expression, found " + Found());
  Advance();
  const std::string_view end = is_dict ? "}" : "]";
  Expression made{.kind = is_dict ? Expression::Kind::kDict : Expression::Kind::kList};
  while (!failed() && !SeesOperator(end)) {
    made.children.push_back(ParseExpression());
    if (is_dict) {
      Expect(":");
      made.children.push_back(ParseExpression());
    }
    if (!Skip(",")) break;
  }
  Expect(end);
  return Made(std::move(made));
}

// --- What follows a primary

ExpressionPtr ExpressionParser::ParsePostfix(ExpressionPtr what) {
  while (!failed()) {
    if (Skip(".")) {
      what = ParseAttribute(std::move(what));
    } else if (Skip("[")) {
      what = ParseItem(std::move(what));
    } else if (SeesOperator("(")) {
      what = ParseCall(std::move(what));
    } else {
      break;
    }
  }
  return what;
}

ExpressionPtr ExpressionParser::ParseAttribute(ExpressionPtr what) {
  if (current().kind == TokenKind::kInteger) {
    return MadeOf(Expression::Kind::kItem, "", std::move(what), ParseNumber());
  }
  const std::string name = ExpectName();
  return MadeOf(Expression::Kind::kAttribute, name, std::move(what));
}

ExpressionPtr ExpressionParser::ParseItem(ExpressionPtr what) {
  Expression made{.kind = Expression::Kind::kItem};
  made.children.push_back(std::move(what));
  const auto part = [this] {
    return SeesOperator(":") || SeesOperator("]") ? nullptr : ParseExpression();
  };
  made.children.push_back(part());
  while (!failed() && made.children.size() < 4 && Skip(":")) {
    made.kind = Expression::Kind::kSlice;
    made.children.push_back(part());
  }
  if (made.kind == Expression::Kind::kSlice) {
    made.children.resize(4);
  } else if (made.children.back() == nullptr) {
    return Fail("expected an expression, found " + Found());
  }
  Expect("]");
  return Made(std::move(made));
}

void ExpressionParser::ParseArguments(Expression& call) {
  Expect("(");
  while (!failed() && !SeesOperator(")")) {
    const std::string_view spread = SeesOperator("**") ? "**" : "*";
    if (Skip(spread)) {
      call.children.push_back(MadeOf(Expression::Kind::kSpread, spread, ParseExpression()));
      call.names.emplace_back();
      if (!Skip(",")) break;
      continue;
    }
    const bool is_named = current().kind == TokenKind::kName &&
                          tokens_[at_ + 1].kind == TokenKind::kOperator &&
                          tokens_[at_ + 1].text == "=";
    if (is_named) {
      call.names.push_back(current().text);
      Advance();
      Advance();
    } else {
      call.names.emplace_back();
    }
    call.children.push_back(ParseExpression());
    if (!Skip(",")) break;
  }
  Expect(")");
}

ExpressionPtr ExpressionParser::ParseCall(ExpressionPtr what) {
  Expression call{.kind = Expression::Kind::kCall};
  call.children.push_back(std::move(what));
  ParseArguments(call);
  return Made(std::move(call));
}

ExpressionPtr ExpressionParser::ParseFiltersAndTests(ExpressionPtr what) {
  while (!failed()) {
    if (Skip("|")) {
      what = ParseFilter(std::move(what));
    } else if (SeesName("is")) {
      Advance();
      what = ParseTest(std::move(what));
    } else if (SeesOperator("(")) {
      what = ParseCall(std::move(what));
    } else {
      break;
    }
  }
  return what;
}

ExpressionPtr ExpressionParser::ParseFilter(ExpressionPtr what) {
  Expression filter{.kind = Expression::Kind::kFilter,
                    .text = Text(ExpectName(), Origin::kTemplate)};
  filter.children.push_back(std::move(what));
  if (SeesOperator("(")) ParseArguments(filter);
  return Made(std::move(filter));
}

ExpressionPtr ExpressionParser::ParseFilters() {
  ExpressionPtr what = ParseFilter(nullptr);
  while (!failed() && Skip("|")) what = ParseFilter(std::move(what));
  return what;
}

// "is not divisibleby 3": one argument may stand without parentheses.
ExpressionPtr ExpressionParser::ParseTest(ExpressionPtr what) {
  const bool is_negated = Skip("not");
  Expression test{.kind = Expression::Kind::kTest, .text = Text(ExpectName(), Origin::kTemplate)};
  test.children.push_back(std::move(what));
  const TokenKind kind = current().kind;
  const bool is_operand = (kind == TokenKind::kName && !SeesName("else") && !SeesName("or") &&
                           !SeesName("and") && !SeesName("is")) ||
                          kind == TokenKind::kString || kind == TokenKind::kInteger ||
                          kind == TokenKind::kFloat || SeesOperator("[") || SeesOperator("{");
  if (SeesOperator("(")) {
    ParseArguments(test);
  } else if (is_operand) {
    test.children.push_back(ParsePostfix(ParsePrimary()));
    test.names.emplace_back();
  }
  ExpressionPtr made = Made(std::move(test));
  return is_negated ? MadeOf(Expression::Kind::kNot, "", std::move(made)) : std::move(made);
}

// --- Targets

ExpressionPtr ExpressionParser::ParseTarget() {
  const Depth depth(*this);
  Expression tuple{.kind = Expression::Kind::kTuple};
  bool is_tuple = false;
  while (!failed()) {
    if (Skip("(")) {
      tuple.children.push_back(ParseTarget());
      Expect(")");
    } else {
      const std::string name = ExpectName();
      ExpressionPtr target = MadeOf(Expression::Kind::kName, name);
      if (Skip(".")) target = ParseAttribute(std::move(target));
      tuple.children.push_back(std::move(target));
    }
    if (!Skip(",")) break;
    is_tuple = true;
    if (SeesName("in") || SeesOperator("=") || SeesOperator(")")) break;
  }
  if (failed()) return nullptr;
  return is_tuple ? Made(std::move(tuple)) : std::move(tuple.children.front());
}

}  // namespace submix::jinja

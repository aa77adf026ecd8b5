#include "submix/jinja/parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/json_object.h"
#include "submix/jinja/expression_parser.h"

namespace submix::jinja {
namespace {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : in_(std::move(tokens)) {}

  base::StatusOr<Body> Run() {
    Body body = ParseBody({});
    if (in_.failed()) return in_.status();
    return body;
  }

 private:
  using Kind = Statement::Kind;

  // Up to a tag of one of these names, which stays to be read; with none, to the end.
  Body ParseBody(std::initializer_list<std::string_view> ends) {
    Body body;
    const ExpressionParser::Depth depth(in_);
    while (!in_.failed()) {
      Statement statement{.line = in_.current().line};
      if (in_.current().kind == TokenKind::kEnd) {
        if (ends.size() > 0) in_.Fail("a block has no " + base::Quoted(*(ends.end() - 1)));
        break;
      }
      if (in_.current().kind == TokenKind::kData) {
        statement.text = Text(in_.current().text, Origin::kTemplate);
        in_.Advance();
      } else if (in_.current().kind == TokenKind::kBeginOutput) {
        in_.Advance();
        statement.kind = Kind::kOutput;
        statement.value = in_.ParseTuple();
        in_.Expect(TokenKind::kEndOutput, "\"}}\"");
      } else {
        in_.Advance();
        const auto sees_end = [this](auto end) { return in_.SeesName(end); };
        if (std::ranges::any_of(ends, sees_end)) break;
        ParseStatement(statement);
      }
      body.push_back(std::move(statement));
    }
    return body;
  }

  // A body, and its end tag.
  Body ParseBlock(std::string_view end) {
    ExpectTagEnd();
    Body body = ParseBody({end});
    in_.Advance();
    ExpectTagEnd();
    return body;
  }
  void ExpectTagEnd() { in_.Expect(TokenKind::kEndBlock, "\"%}\""); }

  void ParseStatement(Statement& statement) {
    const std::string name = in_.ExpectName();
    if (name == "if") return ParseIf(statement);
    if (name == "for") return ParseFor(statement);
    if (name == "set") return ParseSet(statement);
    if (name == "macro") return ParseMacro(statement);
    if (name == "call") return ParseCall(statement);
    if (name == "filter") {
      statement.kind = Kind::kFilter;
      statement.value = in_.ParseFilters();
      statement.body = ParseBlock("endfilter");
    } else if (name == "with") {
      ParseWith(statement);
    } else if (name == "generation") {  // marks what an assistant said, for training
      statement.kind = Kind::kScope;
      statement.body = ParseBlock("endgeneration");
    } else if (name == "break" || name == "continue") {
      if (num_loops_ == 0) in_.Fail(base::Quoted(name) + " stands outside of loops");
      statement.kind = name == "break" ? Kind::kBreak : Kind::kContinue;
      ExpectTagEnd();
    } else {
      RefuseTag(name);
    }
  }

  void RefuseTag(const std::string& name) {
    constexpr std::array<std::string_view, 10> kOfJinja = {
        "include",    "import", "from",  "extends", "block",
        "autoescape", "do",     "print", "trans",   "debug"};
    const bool is_known = std::ranges::find(kOfJinja, name) != kOfJinja.end();
    if (is_known) {
      in_.Fail("the tag " + base::Quoted(name) + " is not supported",
               base::StatusCode::kUnimplemented);
    } else {
      in_.Fail("unexpected tag " + base::Quoted(name));
    }
  }

  void ParseIf(Statement& statement) {
    statement.kind = Kind::kIf;
    while (!in_.failed()) {
      ExpressionPtr condition = in_.ParseTuple(/*with_condition=*/false);
      ExpectTagEnd();
      Body body = ParseBody({"elif", "else", "endif"});
      statement.branches.emplace_back(std::move(condition), std::move(body));
      if (in_.Skip("elif")) continue;
      if (in_.Skip("else")) {
        ExpectTagEnd();
        statement.otherwise = ParseBody({"endif"});
      }
      in_.Advance();
      ExpectTagEnd();
      break;
    }
  }

  void ParseFor(Statement& statement) {
    statement.kind = Kind::kFor;
    statement.target = in_.ParseTarget();
    if (!in_.SeesName("in")) in_.Fail("expected \"in\"");
    in_.Advance();
    statement.value = in_.ParseTuple(/*with_condition=*/false);
    if (in_.Skip("if")) statement.condition = in_.ParseExpression();
    if (in_.SeesName("recursive")) {
      in_.Fail("recursive loops are not supported", base::StatusCode::kUnimplemented);
    }
    ExpectTagEnd();
    ++num_loops_;
    statement.body = ParseBody({"else", "endfor"});
    --num_loops_;
    if (in_.Skip("else")) {
      ExpectTagEnd();
      statement.otherwise = ParseBody({"endfor"});
    }
    in_.Advance();
    ExpectTagEnd();
  }

  void ParseSet(Statement& statement) {
    statement.target = in_.ParseTarget();
    if (in_.Skip("=")) {
      statement.kind = Kind::kSet;
      statement.value = in_.ParseTuple();
      ExpectTagEnd();
      return;
    }
    statement.kind = Kind::kSetBlock;
    if (in_.Skip("|")) statement.value = in_.ParseFilters();
    statement.body = ParseBlock("endset");
  }

  // "(a, b=1)"
  void ParseParameters(Statement& statement) {
    in_.Expect("(");
    while (!in_.failed() && !in_.SeesOperator(")")) {
      std::string name = in_.ExpectName();
      ExpressionPtr otherwise = in_.Skip("=") ? in_.ParseExpression() : nullptr;
      statement.parameters.emplace_back(std::move(name), std::move(otherwise));
      if (!in_.Skip(",")) break;
    }
    in_.Expect(")");
  }

  void ParseMacro(Statement& statement) {
    statement.kind = Kind::kMacro;
    statement.name = in_.ExpectName();
    ParseParameters(statement);
    statement.body = ParseCallee("endmacro");
  }

  void ParseCall(Statement& statement) {
    statement.kind = Kind::kCall;
    if (in_.SeesOperator("(")) ParseParameters(statement);
    statement.value = in_.ParseExpression();
    if (!in_.failed() && statement.value->kind != Expression::Kind::kCall) {
      in_.Fail("a call block needs a call");
    }
    statement.body = ParseCallee("endcall");
  }

  // No loop around it can be left from within it.
  Body ParseCallee(std::string_view end) {
    const int num_loops = std::exchange(num_loops_, 0);
    Body body = ParseBlock(end);
    num_loops_ = num_loops;
    return body;
  }

  void ParseWith(Statement& statement) {
    statement.kind = Kind::kScope;
    while (!in_.failed() && in_.current().kind != TokenKind::kEndBlock) {
      std::string name = in_.ExpectName();
      in_.Expect("=");
      statement.parameters.emplace_back(std::move(name), in_.ParseExpression());
      if (!in_.Skip(",")) break;
    }
    statement.body = ParseBlock("endwith");
  }

  ExpressionParser in_;
  int num_loops_ = 0;  // around what is parsed
};

}  // namespace

base::StatusOr<Body> ParseTemplate(std::string_view source) {
  SUBMIX_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  return Parser(std::move(tokens)).Run();
}

}  // namespace submix::jinja

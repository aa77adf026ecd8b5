// A template as a tree. Immutable once parsed.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "submix/jinja/value.h"

namespace submix::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;

struct Expression {
  enum class Kind {
    kConstant,     // value
    kText,         // text
    kName,         // text
    kList,         // children
    kTuple,        // children
    kDict,         // children: key, value, key, value …
    kNot,          // child
    kNegative,     // child
    kPositive,     // child
    kAnd,          // two children
    kOr,           // two children
    kBinary,       // text: operator; two children
    kCompare,      // operators between the children
    kConditional,  // children: condition, then, else or null
    kAttribute,    // child; text
    kItem,         // children: what, key
    kSlice,        // children: what, and begin, end, step or null
    kCall,         // children: what, arguments
    kSpread,       // an argument; text: "*" or "**"; child
    kFilter,       // text: name; children: what or null in a filter block, arguments
    kTest,         // as kFilter
  };
  Kind kind = Kind::kConstant;
  int depth = 1;  // of the tree
  Text text = {};
  Value value = {};
  std::vector<ExpressionPtr> children = {};
  std::vector<std::string> operators = {};
  std::vector<std::string> names = {};  // of arguments, one for each; empty without
};

struct Statement;
using Body = std::vector<Statement>;

struct Statement {
  enum class Kind {
    kData,      // text
    kOutput,    // value
    kIf,        // branches, otherwise
    kFor,       // target, value, condition or null, body, otherwise
    kSet,       // target, value
    kSetBlock,  // target, body, value: a filter or null
    kMacro,     // name, parameters, body
    kCall,      // value: a call; parameters and body: `caller`
    kFilter,    // value: a filter; body
    kScope,     // parameters: variables of `with`; body
    kBreak,
    kContinue,
  };
  Kind kind = Kind::kData;
  int line = 1;
  Text text = {};
  std::string name = {};
  ExpressionPtr target = nullptr;
  ExpressionPtr value = nullptr;
  ExpressionPtr condition = nullptr;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters = {};  // default or null
  std::vector<std::pair<ExpressionPtr, Body>> branches = {};
  Body body = {};
  Body otherwise = {};
};

}  // namespace submix::jinja

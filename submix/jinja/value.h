// What expressions give: Python's values, as far as templates have them. All are immutable but a
// namespace, as in the sandbox that Hugging Face renders in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "submix/jinja/text.h"

namespace submix::jinja {

struct Dict;
struct Function;
struct Loop;
class Value;
using ValueList = std::vector<Value>;

enum class ValueKind {
  kUndefined,
  kNone,
  kBoolean,
  kInteger,
  kFloat,
  kText,
  kList,
  kTuple,
  kDict,
  kNamespace,
  kFunction,
  kLoop,
};

// Cheap to copy. What it points to belongs to the template or to the rendering (rendering.h), and
// lives as long.
class Value {
 public:
  Value() = default;  // undefined
  static Value None() { return Value(ValueKind::kNone); }
  static Value Boolean(bool value) { return Number(ValueKind::kBoolean, value ? 1 : 0); }
  static Value Integer(std::int64_t value) { return Number(ValueKind::kInteger, value); }
  static Value Float(double value) {
    Value made(ValueKind::kFloat);
    made.float_ = value;
    return made;
  }
  // `name`, which may be null, is for messages.
  static Value Undefined(const Text* name) {
    Value made;
    made.text_ = name;
    return made;
  }
  explicit Value(const Text* text) : kind_(ValueKind::kText), text_(text) {}
  Value(ValueKind list_or_tuple, const ValueList* items) : kind_(list_or_tuple), items_(items) {}
  Value(ValueKind dict_or_namespace, Dict* dict) : kind_(dict_or_namespace), dict_(dict) {}
  explicit Value(const Function* function) : kind_(ValueKind::kFunction), function_(function) {}
  explicit Value(const Loop* loop) : kind_(ValueKind::kLoop), loop_(loop) {}

  ValueKind kind() const { return kind_; }
  bool Is(ValueKind kind) const { return kind_ == kind; }
  bool IsInteger() const {
    return Is(ValueKind::kInteger) || Is(ValueKind::kBoolean);
  }  // as in Python
  bool IsNumber() const { return IsInteger() || Is(ValueKind::kFloat); }
  bool IsItems() const { return Is(ValueKind::kList) || Is(ValueKind::kTuple); }

  // Requires: a value of that kind.
  bool boolean() const { return integer_ != 0; }
  std::int64_t integer() const { return integer_; }
  double number() const { return Is(ValueKind::kFloat) ? float_ : static_cast<double>(integer_); }
  const Text& text() const { return *text_; }
  const Text* text_or_null() const { return text_; }  // an undefined value's name
  const std::string& bytes() const { return text_->bytes(); }
  const ValueList& items() const { return *items_; }
  Dict& dict() const { return *dict_; }
  const Function& function() const { return *function_; }
  const Loop& loop() const { return *loop_; }
  // Two values are one and the same. Requires: neither is a number.
  bool SameAs(const Value& other) const { return kind_ == other.kind_ && text_ == other.text_; }

 private:
  explicit Value(ValueKind kind) : kind_(kind) {}
  static Value Number(ValueKind kind, std::int64_t value) {
    Value made(kind);
    made.integer_ = value;
    return made;
  }

  ValueKind kind_ = ValueKind::kUndefined;
  union {
    const Text* text_ = nullptr;
    std::int64_t integer_;
    double float_;
    const ValueList* items_;
    Dict* dict_;
    const Function* function_;
    const Loop* loop_;
  };
};

// In the order of insertion. Also a namespace's attributes.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
};

// The innermost variables, and those around them.
struct Scope {
  const Scope* outer = nullptr;
  std::vector<std::pair<std::string_view, Value>> variables = {};

  const Value* Find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      for (const auto& [each, value] : scope->variables) {
        if (each == name) return &value;
      }
    }
    return nullptr;
  }
  void Set(std::string_view name, Value value) {
    for (auto& [each, old] : variables) {
      if (each != name) continue;
      old = value;
      return;
    }
    variables.emplace_back(name, value);
  }
};

class Arguments;
class Rendering;
struct Statement;
using Builtin = Value (*)(Rendering& rendering, const Value& self, Arguments& arguments);

// A function or a method of ours, or a template's macro.
struct Function {
  std::string_view name;
  Builtin builtin = nullptr;
  Value self = {};                   // of a method
  const Statement* macro = nullptr;  // if it is one, and where it was defined
  const Scope* scope = nullptr;
};

// `loop`, within a `for`.
struct Loop {
  ValueList items;
  std::size_t index = 0;
  int depth = 1;
};

}  // namespace submix::jinja

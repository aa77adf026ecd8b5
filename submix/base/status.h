// Status and StatusOr<T>: how everything that a caller, a file or the world can cause is reported.
// Names and codes are abseil's, so that changing over would be a rename.
//
// A message says what was expected, what was found and where, and, where there is one, the fix. It
// never holds private text nor a number that depends on a single part.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "submix/base/check.h"

namespace submix::base {

// What each code means for users: docs/using.md.
enum class StatusCode {
  kOk = 0,
  kInvalidArgument,     // the caller's input is wrong, whatever the state of the system
  kNotFound,            // a file, a user, a name that does not exist
  kAlreadyExists,       // would overwrite something
  kFailedPrecondition,  // the state forbids it: wrong ledger, changed ensemble, newer format
  kResourceExhausted,   // disk full, a public limit reached
  kDataLoss,            // damaged bytes: lying header, broken chain, rolled-back ledger
  kUnavailable,         // busy: somebody else holds it; trying again may help
  kUnimplemented,       // valid, but not supported
  kInternal,            // a library failed where it should not
};

// The code's name in words, such as "invalid argument".
std::string_view StatusCodeName(StatusCode code);

// The result of something that can fail and returns nothing. Immutable value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "code name: message", or "ok".
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return Status(); }
Status InvalidArgumentError(std::string message);
Status NotFoundError(std::string message);
Status AlreadyExistsError(std::string message);
Status FailedPreconditionError(std::string message);
Status ResourceExhaustedError(std::string message);
Status DataLossError(std::string message);
Status UnavailableError(std::string message);
Status UnimplementedError(std::string message);
Status InternalError(std::string message);

std::ostream& operator<<(std::ostream& stream, const Status& status);

// A value, or the Status that says why there is none. Reading the value of an error is a bug.
template <typename T>
class [[nodiscard]] StatusOr {
 public:
  StatusOr(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    SUBMIX_CHECK(!status_.ok(), "StatusOr needs a value or an error");
  }
  StatusOr(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  template <typename U>
  requires std::is_convertible_v<U&&, T> &&
      (!std::is_same_v<std::decay_t<U>, T>)&&(!std::is_same_v<std::decay_t<U>, Status>)&&(
          !std::is_same_v<std::decay_t<U>, StatusOr>)StatusOr(U&& value)
      : value_(std::in_place, std::forward<U>(value)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }

  T& value() & {
    SUBMIX_CHECK(ok(), "value of an error");
    return *value_;
  }
  const T& value() const& {
    SUBMIX_CHECK(ok(), "value of an error");
    return *value_;
  }
  T&& value() && {
    SUBMIX_CHECK(ok(), "value of an error");
    return *std::move(value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace submix::base

// Returns the Status of `expression` from the enclosing function unless it is ok.
#define SUBMIX_RETURN_IF_ERROR(expression)                                            \
  do {                                                                                \
    if (::submix::base::Status submix_status_ = (expression); !submix_status_.ok()) { \
      return submix_status_;                                                          \
    }                                                                                 \
  } while (false)

// `SUBMIX_ASSIGN_OR_RETURN(auto x, MakeX());` binds the value or returns the Status.
#define SUBMIX_ASSIGN_OR_RETURN(declaration, expression) \
  SUBMIX_ASSIGN_OR_RETURN_IMPL_(SUBMIX_CONCAT_(submix_or_, __LINE__), declaration, expression)
#define SUBMIX_ASSIGN_OR_RETURN_IMPL_(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.ok()) return result.status();                            \
  declaration = std::move(result).value()
#define SUBMIX_CONCAT_(a, b) SUBMIX_CONCAT_IMPL_(a, b)
#define SUBMIX_CONCAT_IMPL_(a, b) a##b

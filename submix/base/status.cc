#include "submix/base/status.h"

namespace submix::base {

std::string_view StatusCodeName(StatusCode code) {
  constexpr std::string_view kNames[] = {"ok",
                                         "invalid argument",
                                         "not found",
                                         "already exists",
                                         "failed precondition",
                                         "resource exhausted",
                                         "data loss",
                                         "unavailable",
                                         "unimplemented",
                                         "internal"};
  return kNames[static_cast<std::size_t>(code)];
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(StatusCodeName(code_)) + ": " + message_;
}

Status InvalidArgumentError(std::string message) {
  return Status(StatusCode::kInvalidArgument, std::move(message));
}
Status NotFoundError(std::string message) {
  return Status(StatusCode::kNotFound, std::move(message));
}
Status AlreadyExistsError(std::string message) {
  return Status(StatusCode::kAlreadyExists, std::move(message));
}
Status FailedPreconditionError(std::string message) {
  return Status(StatusCode::kFailedPrecondition, std::move(message));
}
Status ResourceExhaustedError(std::string message) {
  return Status(StatusCode::kResourceExhausted, std::move(message));
}
Status DataLossError(std::string message) {
  return Status(StatusCode::kDataLoss, std::move(message));
}
Status UnavailableError(std::string message) {
  return Status(StatusCode::kUnavailable, std::move(message));
}
Status UnimplementedError(std::string message) {
  return Status(StatusCode::kUnimplemented, std::move(message));
}
Status InternalError(std::string message) {
  return Status(StatusCode::kInternal, std::move(message));
}

std::ostream& operator<<(std::ostream& stream, const Status& status) {
  return stream << status.ToString();
}

}  // namespace submix::base

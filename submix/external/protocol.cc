#include "submix/external/protocol.h"

#include <bit>
#include <climits>

#include "submix/base/json_object.h"

namespace submix::external {
namespace {

using base::JsonObject;
using base::StatusOr;

static_assert(std::endian::native == std::endian::little, "the protocol's numbers are copied");

constexpr int kVersion = 2;

template <typename Number>
void AppendNumber(std::string& message, Number number) {
  message.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

StatusOr<Hello> ParseHello(std::string_view text, const std::string& where) {
  SUBMIX_ASSIGN_OR_RETURN(const JsonObject json, JsonObject::Parse(text, where));
  SUBMIX_ASSIGN_OR_RETURN(const int version, json.Int("protocol", 1, INT_MAX));
  if (version != kVersion) {
    return base::FailedPreconditionError(where + ": speaks version " + std::to_string(version) +
                                         " of the logits protocol, this Submix version " +
                                         std::to_string(kVersion));
  }
  Hello hello;
  SUBMIX_ASSIGN_OR_RETURN(hello.rows, json.Int("rows", 1, INT_MAX));
  SUBMIX_ASSIGN_OR_RETURN(hello.vocabulary, json.Int("vocabulary", 1, INT_MAX));
  SUBMIX_ASSIGN_OR_RETURN(hello.context, json.Int("context", 1, INT_MAX));
  SUBMIX_ASSIGN_OR_RETURN(const std::string type, json.Text("type"));
  hello.is_float16 = type == "float16";
  if (!hello.is_float16 && type != "float32") {
    return json.FieldError("type", "expected \"float16\" or \"float32\"");
  }
  SUBMIX_ASSIGN_OR_RETURN(hello.digest, json.Text("digest"));
  SUBMIX_RETURN_IF_ERROR(json.ReadIfPresent("tokenizer", hello.tokenizer));
  return hello;
}

std::string StepMessage(StepNumber step, std::span<const ensemble::SequenceId> closed,
                        std::span<const ensemble::Predictor::Append> appends) {
  std::string message;
  AppendNumber(message, step);
  AppendNumber(message, static_cast<std::uint32_t>(closed.size()));
  AppendNumber(message, static_cast<std::uint32_t>(appends.size()));
  for (const ensemble::SequenceId id : closed) AppendNumber(message, std::int64_t{id});
  for (const ensemble::Predictor::Append& append : appends) {
    AppendNumber(message, std::int64_t{append.sequence});
    AppendNumber(message, std::uint32_t{append.predicts});
    AppendNumber(message, static_cast<std::uint32_t>(append.tokens.size()));
    for (const base::TokenId token : append.tokens) AppendNumber(message, std::int32_t{token});
  }
  return message;
}

}  // namespace submix::external

// What a body says of its answers' shape: OpenAI's response_format, and vLLM's guided_choice,
// guided_regex, guided_json and structured_outputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "submix/server/openai_request.h"

namespace submix::server {

inline constexpr std::string_view kShapeFields[] = {
    "response_format", "guided_choice", "guided_regex", "guided_json", "structured_outputs"};

// What clients send for "I did not set this".
bool CountsAsAbsent(const nlohmann::json& value);

// The one shape that is asked for, if any. `object` is what was read of `body`, from which a
// schema's own text is taken: the order of its properties counts. Errors: 400, naming the field.
std::variant<std::optional<AskedShape>, ApiError> ReadShape(const nlohmann::json& object,
                                                            std::string_view body);

// The text of the value behind these keys, each within the one before; empty if there is none, or a
// key is written with escapes. Requires: a JSON object. Time: linear.
std::string_view ValueText(std::string_view json, std::span<const std::string_view> keys);

}  // namespace submix::server

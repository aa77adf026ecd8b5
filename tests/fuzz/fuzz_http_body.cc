#include <cstddef>

#include <nlohmann/json.hpp>

#include "submix/base/check.h"
#include "submix/server/openai_request.h"
#include "submix/server/openai_response.h"
#include "tests/fuzz/fuzz_targets.h"

namespace submix::fuzz {
namespace {

void CheckCall(const server::CompletionCall& call, int max_choices) {
  const mechanism::SamplingOptions& sampling = call.settings.sampling;
  SUBMIX_CHECK(!call.prompts.empty() && call.n >= 1, "something is asked");
  SUBMIX_CHECK(call.prompts.size() * static_cast<std::size_t>(call.n) <=
                   static_cast<std::size_t>(max_choices),
               "the number of tokens is limited");
  SUBMIX_CHECK(sampling.temperature > 0 && sampling.temperature <= 2, "no draw without noise");
  SUBMIX_CHECK(
      sampling.top_p > 0 && sampling.top_p <= 1 && sampling.top_k >= 0 && sampling.top_k_plus >= 0,
      "in range");
  SUBMIX_CHECK(!call.has_max_tokens || call.settings.max_tokens >= 1, "an answer has a token");
  for (const std::string& stop : call.settings.stop) {
    SUBMIX_CHECK(!stop.empty() && stop.size() <= 256, "stop strings are short");
  }
  for (const server::Prompt& prompt : call.prompts) {
    SUBMIX_CHECK(!std::visit([](const auto& value) { return value.empty(); }, prompt),
                 "no prompt is empty");
  }
}

}  // namespace

// Unknown fields are refused in bodies of even size, ignored in others.
void FuzzHttpBody(std::string_view input) {
  const server::ParseOptions options{.strict_fields = input.size() % 2 == 0};
  for (const auto endpoint : {server::Endpoint::kCompletions, server::Endpoint::kChat}) {
    const auto parsed = server::ParseCall(endpoint, input, options);
    if (const auto* call = std::get_if<server::CompletionCall>(&parsed)) {
      CheckCall(*call, options.max_choices);
    } else {
      const auto& error = std::get<server::ApiError>(parsed);
      SUBMIX_CHECK(error.status == 400 && !error.message.empty(), "a client is told why");
      SUBMIX_CHECK(nlohmann::json::accept(server::ErrorBody(error)), "in JSON");
    }
  }
}

}  // namespace submix::fuzz

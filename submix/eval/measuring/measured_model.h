// The public models that private answers were measured with: what is expected of others stands on
// them.
#pragma once

#include <optional>
#include <string_view>

namespace submix::eval {

enum class MeasuredModel {
  kSmallGpt2,  // docs/results/which and others: 7 million weights
  kSmolLm2,    // docs/results/real: SmolLM2-135M-Instruct
};

// That whose shape a public model has; none: nothing like it was measured.
inline std::optional<MeasuredModel> MeasuredModelLike(std::string_view family, int layers,
                                                      int width) {
  if (family == "gpt2" && layers == 6 && width == 256) return MeasuredModel::kSmallGpt2;
  if (family == "llama" && layers == 30 && width == 576) return MeasuredModel::kSmolLm2;
  return std::nullopt;
}

// As a sentence has it: "over a GPT-2 of 6 layers".
inline std::string_view NameOf(MeasuredModel model) {
  return model == MeasuredModel::kSmolLm2 ? "SmolLM2-135M-Instruct" : "a GPT-2 of 6 layers";
}

}  // namespace submix::eval

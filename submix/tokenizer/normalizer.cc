#include "submix/tokenizer/normalizer.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "submix/tokenizer/canonical_composition.h"

namespace submix::tokenizer {
namespace {

std::string ApplyStep(const Normalizer::Prepend& step, std::string text, bool is_at_start) {
  const bool is_wanted = !(step.only_at_start && !is_at_start) &&
                         !(step.unless_present && text.starts_with(step.content));
  return is_wanted ? step.content + text : text;
}

std::string ApplyStep(const Normalizer::Replace& step, const std::string& text, bool) {
  return ReplaceAll(text, step.pattern, step.content);
}

std::string ApplyStep(const Normalizer::Compose&, const std::string& text, bool) {
  return ComposeCanonically(text);
}

constexpr auto MostBytesOfOne = [](const auto& step) -> std::size_t {
  using Step = std::remove_cvref_t<decltype(step)>;
  if constexpr (std::is_same_v<Step, Normalizer::Replace>) {
    if (step.content.empty()) return Normalizer::kUnlimited;
    return (step.pattern.size() + step.content.size() - 1) / step.content.size();
  } else if constexpr (std::is_same_v<Step, Normalizer::Compose>) {
    return 4;  // 7 bytes, U+1FBE U+0308 U+0301, become the 2 of U+0390; no others lose as many
  } else {
    return 1;
  }
};

}  // namespace

std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content) {
  std::string replaced;
  replaced.reserve(text.size());
  for (std::size_t begin = 0;;) {
    const std::size_t found = text.find(pattern, begin);
    replaced += text.substr(begin, found - begin);
    if (found == std::string_view::npos) return replaced;
    replaced += content;
    begin = found + pattern.size();
  }
}

Normalizer::Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

std::size_t Normalizer::most_bytes_of_one() const {
  std::size_t most = 1;
  for (const Step& step : steps_) {
    most = std::min(kUnlimited, most * std::visit(MostBytesOfOne, step));
  }
  return most;
}

std::string Normalizer::Apply(std::string_view text, bool is_at_start) const {
  std::string normalized(text);
  if (text.empty()) return normalized;
  for (const Step& step : steps_) {
    normalized = std::visit(
        [&](const auto& each) { return ApplyStep(each, std::move(normalized), is_at_start); },
        step);
  }
  return normalized;
}

}  // namespace submix::tokenizer

#include "submix/tokenizer/normalizer.h"

#include <algorithm>
#include <functional>
#include <type_traits>
#include <utility>

#include "submix/tokenizer/canonical_composition.h"

namespace submix::tokenizer {
namespace {

// Writes text, and for each byte whether it is a template's, piece by piece.
class Writer {
 public:
  Writer(std::string_view text, const std::vector<bool>* is_of_template)
      : text_(text), is_of_template_(is_of_template) {}

  bool has_flags() const { return is_of_template_ != nullptr; }

  void Copy(std::size_t begin, std::size_t end) {
    written_ += text_.substr(begin, end - begin);
    if (is_of_template_ == nullptr) return;
    const auto first = is_of_template_->begin();
    flags_.insert(flags_.end(), first + static_cast<std::ptrdiff_t>(begin),
                  first + static_cast<std::ptrdiff_t>(end));
  }

  void Replace(std::size_t begin, std::size_t end, std::string_view content) {
    written_ += content;
    if (is_of_template_ == nullptr) return;
    const auto first = is_of_template_->begin();
    const bool is_whole = std::all_of(first + static_cast<std::ptrdiff_t>(begin),
                                      first + static_cast<std::ptrdiff_t>(end), std::identity());
    flags_.insert(flags_.end(), content.size(), is_whole);
  }

  void Finish(std::string& text, std::vector<bool>* is_of_template) {
    text = std::move(written_);
    if (is_of_template != nullptr) *is_of_template = std::move(flags_);
  }

 private:
  std::string_view text_;
  const std::vector<bool>* is_of_template_;
  std::string written_;
  std::vector<bool> flags_;
};

void ApplyStep(const Normalizer::Prepend& step, std::string_view text, bool is_at_start,
               Writer& writer) {
  const bool is_wanted = !(step.only_at_start && !is_at_start) &&
                         !(step.unless_present && text.starts_with(step.content));
  if (is_wanted) writer.Replace(0, 0, step.content);
  writer.Copy(0, text.size());
}

void ApplyStep(const Normalizer::Replace& step, std::string_view text, bool, Writer& writer) {
  for (std::size_t begin = 0;;) {
    const std::size_t found = std::min(text.find(step.pattern, begin), text.size());
    writer.Copy(begin, found);
    if (found == text.size()) return;
    begin = found + step.pattern.size();
    writer.Replace(found, begin, step.content);
  }
}

// With flags, stretch by stretch: nothing composes across the beginning of an ASCII character.
void ApplyStep(const Normalizer::Compose&, std::string_view text, bool, Writer& writer) {
  if (!writer.has_flags()) return writer.Replace(0, text.size(), ComposeCanonically(text));
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  for (std::size_t begin = 0; begin < text.size();) {
    const auto next =
        std::find_if(text.begin() + static_cast<std::ptrdiff_t>(begin) + 1, text.end(), is_ascii);
    const auto end = static_cast<std::size_t>(next - text.begin());
    const std::string_view stretch = text.substr(begin, end - begin);
    const std::string composed = ComposeCanonically(stretch);
    if (composed == stretch) {
      writer.Copy(begin, end);
    } else {
      writer.Replace(begin, end, composed);
    }
    begin = end;
  }
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

constexpr auto GrowthOfStep = [](const auto& step) -> double {
  using Step = std::remove_cvref_t<decltype(step)>;
  if constexpr (std::is_same_v<Step, Normalizer::Replace>) {
    return std::max(
        1.0, static_cast<double>(step.content.size()) / static_cast<double>(step.pattern.size()));
  } else if constexpr (std::is_same_v<Step, Normalizer::Prepend>) {
    return 1.0 + static_cast<double>(step.content.size());
  } else {
    return 3.0;  // U+1D160, of 4 bytes, becomes 12
  }
};

}  // namespace

double Normalizer::GrowthOf(const std::vector<Step>& steps) {
  double growth = 1;
  for (const Step& step : steps) growth *= std::visit(GrowthOfStep, step);
  return growth;
}

std::string ReplaceAll(std::string_view text, std::string_view pattern, std::string_view content) {
  const Normalizer::Replace step{std::string(pattern), std::string(content)};
  return Normalizer({step}).Apply(text, true);
}

Normalizer::Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

std::size_t Normalizer::most_bytes_of_one() const {
  std::size_t most = 1;
  for (const Step& step : steps_) {
    most = std::min(kUnlimited, most * std::visit(MostBytesOfOne, step));
  }
  return most;
}

std::string Normalizer::Apply(std::string_view text, bool is_at_start,
                              std::vector<bool>* is_of_template) const {
  std::string normalized(text);
  for (const Step& step : steps_) {
    if (normalized.empty()) break;
    Writer writer(normalized, is_of_template);
    std::visit([&](const auto& each) { ApplyStep(each, normalized, is_at_start, writer); }, step);
    writer.Finish(normalized, is_of_template);
  }
  return normalized;
}

}  // namespace submix::tokenizer

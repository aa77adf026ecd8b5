// What a person may paste into a shell.
#pragma once

#include <string>
#include <string_view>

#include "submix/accounting/privacy_statement.h"
#include "submix/base/number_text.h"

namespace submix::apps {

// One word of a shell's command line: in quotes if a byte has a meaning there.
inline std::string ShellWord(std::string_view text) {
  constexpr std::string_view kMeaning = " \t\n\"'`\\$&|;<>()[]{}*?!#~^";
  if (!text.empty() && text.find_first_of(kMeaning) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char byte : text) word += byte == '\'' ? "'\\''" : std::string(1, byte);
  return word + "'";
}

// " --delta D" of a command that goes on with what was promised at D; empty for the default.
inline std::string DeltaFlag(double delta) {
  return delta == accounting::kDefaultDelta ? "" : " --delta " + base::NumberText(delta);
}

}  // namespace submix::apps

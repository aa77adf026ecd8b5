// What a person may paste into a shell.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace submix::apps

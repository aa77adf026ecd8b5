#include "submix/apps/help_text.h"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string_view>
#include <vector>

#include "submix/base/text_table.h"

namespace submix::apps {
namespace {

constexpr std::size_t kOptionColumn = 28;
constexpr std::size_t kCommandColumn = 14;
constexpr std::size_t kIndent = 2;
// Of names that go on: by it, and by the column of descriptions, readers of --help tell options.
constexpr std::size_t kFurtherNames = 6;
// CLI11 indents groups of options once more.
constexpr std::size_t kWidth = base::kTerminalWidth - kIndent;

// In the column of descriptions.
std::string Described(const std::string& words) {
  std::string text;
  for (const std::string& line : base::WrappedLines(words, kWidth - kOptionColumn)) {
    text += std::string(kOptionColumn, ' ') + line + '\n';
  }
  return text;
}

// Sentences, whose lines are set anew.
std::string Paragraphs(const std::string& sentences) {
  std::string text;
  for (const std::string& line : base::WrappedLines(sentences)) text += line + '\n';
  return text;
}

bool IsCommand(std::string_view line) {
  return line.starts_with(' ') || line.starts_with("Example");
}

std::string CommandLine(const std::string& command) {
  constexpr std::size_t kFurther = 13;
  if (command.size() <= base::kTerminalWidth) return command + '\n';
  const std::size_t first = command.find_first_not_of(' ');
  std::string text(first, ' ');
  std::size_t room = base::kTerminalWidth - 2 - first;  // for " \" too
  std::string line;
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > room) {
      text += line + " \\\n" + std::string(kFurther, ' ');
      room = base::kTerminalWidth - 2 - kFurther;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return text + line + '\n';
}

// Sentences and commands, as make_footer has it.
std::string SentencesAndCommands(const std::string& text) {
  std::string laid_out;
  std::string sentences;
  const auto finish = [&] {
    if (!sentences.empty()) laid_out += Paragraphs(sentences);
    sentences.clear();
  };
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!IsCommand(line)) {
      sentences += line + ' ';
      continue;
    }
    finish();
    laid_out += CommandLine(line);
  }
  finish();
  return laid_out;
}

}  // namespace

HelpText::HelpText() { column_width(kOptionColumn); }

std::string HelpText::make_description(const CLI::App* app) const {
  const std::string description = CLI::Formatter::make_description(app);
  const std::size_t rule = std::min(description.find(" \n["), description.size());
  return SentencesAndCommands(description.substr(0, rule)) +
         (rule < description.size() ? description.substr(rule + 2) : "");
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = make_option_name(option, is_positional) + make_option_opts(option);
  if (name.size() > kWidth - kFurtherNames) name = CLI::detail::find_and_replace(name, ",", ", ");
  std::string names;
  for (const std::string& line : base::WrappedLines(name, kWidth - kFurtherNames)) {
    names += std::string(names.empty() ? kIndent : kFurtherNames, ' ') + line + '\n';
  }
  const std::string description = make_option_desc(option);
  if (description.empty()) return names;
  std::string text = Described(description);
  if (kIndent + name.size() + 1 >= kOptionColumn) return names + text;
  return text.replace(kIndent, name.size(), name);
}

std::string HelpText::make_subcommand(const CLI::App* command) const {
  std::string name = std::string(kIndent, ' ') + command->get_display_name(true) + "  ";
  name.resize(std::max(name.size(), kCommandColumn), ' ');
  return name + command->get_description() + '\n';
}

std::string HelpText::make_footer(const CLI::App* app) const {
  return SentencesAndCommands(app->get_footer());
}

}  // namespace submix::apps

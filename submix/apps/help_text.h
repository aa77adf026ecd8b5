// What --help prints: CLI11's layout, with every line within a terminal's usual width.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace submix::apps {

// Thread-safe, as CLI11's own: it has no state but the width of a column.
class HelpText : public CLI::Formatter {
 public:
  HelpText();

  std::string make_description(const CLI::App* app) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  // One line: the name and a summary, which should be short enough.
  std::string make_subcommand(const CLI::App* command) const override;
  // Sentences are set anew; lines that begin with "Example:" or a space are commands, which go on
  // below behind a backslash where they are long.
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace submix::apps

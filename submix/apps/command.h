// What a command of the programs is: a name, and a function that adds its options to the command
// line and says what to run.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>

#include "submix/base/status.h"

namespace submix::apps {

// What runs after the command line has been read. Set by the chosen command.
using Action = std::function<base::Status()>;

struct Command {
  std::string_view name;
  // Adds options to the command's own sub-parser and sets `action` in its callback.
  void (*add)(CLI::App& command, Action& action);
};

// Reads the command line, runs the command and returns the exit code: 0, 1 for failure (one line on
// stderr says what and how to fix it), 2 for wrong use. `commands` are this program's own; the
// others of the table in command.cc are run by `other_program`, beside this one, as git runs its
// own.
int RunProgram(int argc, char** argv, std::span<const Command> commands,
               std::string_view other_program);

// Replaces this process by the other program, beside this one, with the same arguments. Returns
// only if that fails: kUnavailable.
base::Status RunOtherProgram(char** argv, std::string_view other_program);

}  // namespace submix::apps

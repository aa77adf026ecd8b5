// Options on a command line, one a line: their name, where the value goes, what it may be, and what
// it means. Compiled once, since CLI11's templates take long.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "submix/apps/command.h"

namespace submix::apps {

// Conditions on numbers, written positively so that NaN is refused as wrong use.
CLI::Validator Number(const std::string& expected, const std::function<bool(double)>& is_good);
CLI::Validator Between(double least, double most);
extern const CLI::Validator kPositive;     // above 0, finite
extern const CLI::Validator kNonNegative;  // finite
extern const CLI::Validator kProbability;  // in [0, 1]
extern const CLI::Validator kShare;        // in (0, 1]
extern const CLI::Validator kDelta;        // in (0, 1)
extern const CLI::Validator kCount;        // a whole number from 1 to 2^53

// Conditions on words.
extern const CLI::Validator kFile;       // is there
extern const CLI::Validator kDirectory;  // is there
// Is to be written, and is looked at before the work whose result it takes: its directory is there.
extern const CLI::Validator kOutputFile;
CLI::Validator OneOf(std::vector<std::string> words);

// Adds options to a command, or to a group of them. The variables must outlive the command; their
// values are the defaults.
class Flags {
 public:
  Flags(CLI::App& command) : command_(&command) {}  // a command is its flags

  // A bool is a flag without a value; a vector takes a list with commas or, if it has no dashes,
  // several words. Instantiated for the types that commands use.
  template <typename T>
  CLI::Option* Add(const std::string& name, T& value, const std::string& help);
  template <typename T>
  CLI::Option* Add(const std::string& name, T& value, const CLI::Validator& check,
                   const std::string& help) {
    return Add(name, value, help)->check(check);
  }
  // Options that must be given.
  template <typename T>
  CLI::Option* Require(const std::string& name, T& value, const std::string& help) {
    return Add(name, value, help)->required();
  }
  template <typename T>
  CLI::Option* Require(const std::string& name, T& value, const CLI::Validator& check,
                       const std::string& help) {
    return Add(name, value, check, help)->required();
  }

 private:
  CLI::App* command_;
};

// Makes `run(options)` what the command does, and returns these options for its flags.
template <typename Options, typename Run>
Options& SetAction(CLI::App& command, Action& action, Run run) {
  auto options = std::make_shared<Options>();
  command.callback([=, &action] { action = [=] { return run(*options); }; });
  return *options;
}

}  // namespace submix::apps

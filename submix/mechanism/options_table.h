// The options of mechanisms, each said once: what it is called in files and on command lines, who
// reads it, what it may be and what it does. Command lines, deployment.json, rows of evaluations,
// Python's `deploy` and docs/mechanism_options.md loop over this table; mechanisms read the struct,
// and refuse what is out of range. Thread-safe: the table is constant.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "submix/base/status.h"
#include "submix/mechanism/mechanism_options.h"

namespace submix::mechanism {

// As files and rows write it. Words: names, and orders, which may be "inf".
using OptionValue = std::variant<std::string, double, std::int64_t>;

struct MechanismOption {
  template <typename T>
  using Field = T& (*)(MechanismOptions& options);

  std::string_view path;  // "clip.stretch", in deployment.json and in rows; persistent
  std::string_view flag;  // "--clip-stretch"; keywords of Python are the same without dashes
  std::string_view readers = {};  // mechanisms, with commas; empty: every one
  std::string_view range;         // "in [1, 16]", or the words
  std::string_view unsaid;  // what commands take where nobody says: a value, or how it is found
  std::string_view reason;  // why that
  std::string_view help;    // what it does
  std::variant<Field<std::string>, Field<divergence::RenyiOrder>, Field<ChargeAccounting>,
               Field<double>, Field<int>>
      field;
  // In every deployment.json. The others are there only where their group ("clip.") is not all
  // default, so that the fingerprints of older deployments stay.
  bool is_always_written = false;

  // "clip", "" for one without a group.
  std::string_view group() const;
  // "/clip/stretch", a JSON pointer (RFC 6901).
  std::string pointer() const;
  // "clip_stretch".
  std::string keyword() const;
};

// In the order of files and of --help.
std::span<const MechanismOption> MechanismOptionsTable();

OptionValue ValueOf(const MechanismOption& option, const MechanismOptions& options);
// Errors: kInvalidArgument naming the flag, for a value of another kind or a word that it does not
// know. Ranges are the mechanism's to check.
base::Status SetValue(const MechanismOption& option, const OptionValue& value,
                      MechanismOptions& options);

// The same as text, of numbers the shortest that gives them back.
std::string TextOf(const MechanismOption& option, const MechanismOptions& options);
base::Status SetText(const MechanismOption& option, std::string_view text,
                     MechanismOptions& options);

// Sets options by their paths. Errors: kInvalidArgument for a path that there is not, and
// SetText's.
base::Status SetTexts(const std::map<std::string, std::string>& texts, MechanismOptions& options);

// Whether deployment.json has it.
bool IsWritten(const MechanismOption& option, const MechanismOptions& options);

// Whether mechanisms of that name read it.
bool IsReadBy(const MechanismOption& option, std::string_view mechanism);

// docs/mechanism_options.md.
std::string OptionsAsMarkdown();

}  // namespace submix::mechanism

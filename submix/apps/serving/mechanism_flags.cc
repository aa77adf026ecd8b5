#include "submix/apps/serving/mechanism_flags.h"

#include "submix/mechanism/research/any_mechanism.h"

namespace submix::apps {
namespace {

using mechanism::MechanismOption;

// Of its kind; whether it is in range is the mechanism's to say.
CLI::Validator IsOfItsKind(const MechanismOption& option) {
  return CLI::Validator(
      [&option](const std::string& text) {
        mechanism::MechanismOptions scratch;
        return SetText(option, text, scratch).ok()
                   ? std::string()
                   : "expected " + std::string(option.range) + ", found " + text;
      },
      "");
}

std::string HelpOf(const MechanismOption& option) {
  const std::string readers =
      option.readers.empty() ? "" : " (" + std::string(option.readers) + ")";
  return std::string(option.help) + "; " + std::string(option.range) + readers;
}

std::string KindOf(const MechanismOption& option) {
  switch (ValueOf(option, mechanism::MechanismOptions()).index()) {
    case 0:
      return "TEXT";
    case 1:
      return "FLOAT";
    default:
      return "INT";
  }
}

}  // namespace

CLI::Validator MechanismName() {
  return CLI::Validator(
      [](const std::string& name) {
        const std::string names = mechanism::AnyMechanismNames();
        return (", " + names + ",").find(", " + name + ",") != std::string::npos
                   ? std::string()
                   : "there is no mechanism \"" + name + "\": one of " + names;
      },
      "");
}

void MechanismFlags::AddTo(Flags flags, Takes takes) {
  for (const MechanismOption& option : mechanism::MechanismOptionsTable()) {
    if (option.path == "mechanism") continue;
    CLI::Option* const flag = flags.Add(std::string(option.flag), given_[option.path],
                                        IsOfItsKind(option), HelpOf(option));
    flag->type_name(KindOf(option))->default_str(std::string(option.unsaid));
    if (takes == Takes::kOneValue) flag->delimiter('\0')->expected(1);
  }
}

const std::vector<std::string>& MechanismFlags::Given(std::string_view path) const {
  static const std::vector<std::string> kNothing;
  const auto found = given_.find(path);
  return found == given_.end() ? kNothing : found->second;
}

std::map<std::string, std::string> MechanismFlags::Said() const {
  std::map<std::string, std::string> said;
  for (const auto& [path, values] : given_) {
    if (!values.empty()) said[std::string(path)] = values.front();
  }
  return said;
}

}  // namespace submix::apps

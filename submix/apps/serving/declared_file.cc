#include "submix/apps/serving/declared_file.h"

#include <algorithm>

#include "submix/apps/serving/toml_file.h"
#include "submix/base/file_system.h"
#include "submix/base/json_object.h"
#include "submix/base/text_table.h"

namespace submix::apps {
namespace {

using base::Status;
using base::StatusOr;

// The page prints on two sheets.
constexpr std::size_t kLongestStatement = 1'000;

std::string FieldNames() {
  std::string names;
  for (const eval::DeclaredField& field : eval::kDeclaredFields) {
    names += (names.empty() ? "" : ", ") + std::string(field.key);
  }
  return names;
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

// What is wrong with a statement; empty: nothing.
std::string FlawOf(const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  if (!text) return "expected text in quotes";
  if (text->find_first_not_of(" \t\n") == std::string::npos) {
    return "says nothing; leave the field out if it is not declared";
  }
  if (text->size() > kLongestStatement) {
    return "has " + std::to_string(text->size()) + " bytes, more than " +
           std::to_string(kLongestStatement) + "; say it shorter";
  }
  return std::ranges::any_of(*text, IsControl) ? "holds a control character" : "";
}

}  // namespace

std::string DeclaredPath(const std::string& deployment_directory) {
  return base::JoinPath(deployment_directory, "declared.toml");
}

StatusOr<eval::DeclaredStatements> ReadDeclared(const std::string& path) {
  SUBMIX_ASSIGN_OR_RETURN(const toml::table file, ReadToml(path));
  eval::DeclaredStatements declared;
  for (const auto& [key, node] : file) {
    const std::string name(key.str());
    const bool is_known = std::ranges::any_of(
        eval::kDeclaredFields, [&](const eval::DeclaredField& field) { return field.key == name; });
    if (!is_known) {
      return WrongAt(path, node, base::Printable(name),
                     "there is no such field; there are " + FieldNames());
    }
    if (const std::string flaw = FlawOf(node); !flaw.empty()) {
      return WrongAt(path, node, name, flaw);
    }
    declared[name] = *node.value_exact<std::string>();
  }
  if (declared.empty()) {
    return base::InvalidArgumentError(path + ": declares nothing; fields are " + FieldNames());
  }
  return declared;
}

StatusOr<eval::DeclaredStatements> DeclaredOf(const std::string& deployment_directory) {
  const std::string path = DeclaredPath(deployment_directory);
  if (!base::FileExists(path)) return eval::DeclaredStatements();
  return ReadDeclared(path);
}

Status Declare(const std::string& path, const std::string& deployment_directory) {
  SUBMIX_RETURN_IF_ERROR(ReadDeclared(path).status());
  SUBMIX_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path));
  return base::WriteFile(DeclaredPath(deployment_directory), text);
}

std::string DeclaredToml(const eval::DeclaredStatements& declared) {
  std::string toml;
  for (const eval::DeclaredField& field : eval::kDeclaredFields) {
    const std::string asked = std::string(field.heading) + ": " + std::string(field.asks) + ".";
    if (!toml.empty()) toml += '\n';
    for (const std::string& line : base::WrappedLines(asked, base::kTerminalWidth - 2)) {
      toml += "# " + line + '\n';
    }
    const auto found = declared.find(field.key);
    toml += found == declared.end()
                ? "# " + std::string(field.key) + " = \"\"\n"
                : std::string(field.key) + " = " + base::JsonText(found->second) + "\n";
  }
  return toml;
}

}  // namespace submix::apps

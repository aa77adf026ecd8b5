// What an operator says of a deployment that no program can know: statements, not mechanisms. No
// charge and no fingerprint depends on them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace submix::eval {

struct DeclaredField {
  std::string_view key;
  std::string_view heading;
  std::string_view asks;  // what a statement should say
};
inline constexpr DeclaredField kDeclaredFields[] = {
    {"public_model", "Where the public model comes from",
     "who trained it, on what text, and whether these users' text may be in it"},
    {"other_releases", "Other releases about the same people",
     "statistics, models or texts about them that were given away elsewhere"},
    {"retention", "How long things are kept",
     "users' text, members, answers, logs and backups, and who deletes them"},
    {"key_holders", "Who holds the keys",
     "to the text, the partition key, the ledger, its backups and the API keys"},
};

// By their keys; a field that is absent is not declared.
using DeclaredStatements = std::map<std::string, std::string, std::less<>>;

inline constexpr char kNotDeclared[] = "not declared";

inline std::string DeclaredOr(const DeclaredStatements& declared, std::string_view key,
                              std::string_view otherwise) {
  const auto found = declared.find(key);
  return found == declared.end() ? std::string(otherwise) : found->second;
}

}  // namespace submix::eval

// The file of an operator's statements (eval/pages/declared_statements.h): TOML with the keys of
// these fields, kept as DEPLOYMENT/declared.toml. Format: docs/deployment_format.md.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/eval/pages/declared_statements.h"

namespace submix::apps {

// DEPLOYMENT/declared.toml.
std::string DeclaredPath(const std::string& deployment_directory);

// Errors: those of ReadToml; kInvalidArgument naming file, line and key for an unknown key, for
// what is not text, is empty, longer than 1000 bytes or holds control characters, and for a file
// that declares nothing.
base::StatusOr<eval::DeclaredStatements> ReadDeclared(const std::string& path);

// Of a deployment; nothing is declared where there is no file. Errors: ReadDeclared's.
base::StatusOr<eval::DeclaredStatements> DeclaredOf(const std::string& deployment_directory);

// Makes the file's statements those of the deployment, in place of earlier ones; comments are kept
// too. Errors: ReadDeclared's, with what was declared as it was; those of writing.
base::Status Declare(const std::string& path, const std::string& deployment_directory);

// As a file to edit: every field, those that are not declared as comments that ask for them.
std::string DeclaredToml(const eval::DeclaredStatements& declared);

}  // namespace submix::apps

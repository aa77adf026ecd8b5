// As many connections as this process may open files for.
#pragma once

#include <string>

#include "submix/base/status.h"

namespace submix::server {

// Each connection is an open file, of which a shell often allows 1,024, and the ledger needs some,
// too: allows more, or else lowers `connections`. Returns what is to be said of that; empty:
// nothing. Changes the process's limit. Errors: kResourceExhausted where hardly any would be left.
base::StatusOr<std::string> FitConnections(int& connections);

}  // namespace submix::server

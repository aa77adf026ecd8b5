// What a deployment promises, in words: its mechanism's statement, with the cost of the public
// model where that was trained on private text.
#pragma once

#include <string>
#include <vector>

#include "submix/engine/deployment.h"

namespace submix::engine {

// One sentence a line.
std::vector<std::string> StatementLines(const Deployment& deployment);
// The lines, each ended by a newline.
std::string StatementText(const Deployment& deployment);

}  // namespace submix::engine

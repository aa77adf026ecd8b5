// A figure drawn into a directory, for commands that put it on a page.
#pragma once

#include <string>

#include "submix/base/status.h"
#include "submix/eval/pages/figure.h"

namespace submix::apps {

// Writes the figure's files. Returns the SVG; empty, with a line on stderr, if gnuplot could not
// draw it. Errors: those of writing.
base::StatusOr<std::string> DrawFigure(const eval::Figure& figure, const std::string& directory);

}  // namespace submix::apps

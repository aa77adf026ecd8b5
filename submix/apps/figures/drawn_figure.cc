#include "submix/apps/figures/drawn_figure.h"

#include <cstdio>

#include "submix/base/file_system.h"

namespace submix::apps {

base::StatusOr<std::string> DrawFigure(const eval::Figure& figure, const std::string& directory) {
  const base::Status drawn = eval::WriteFigure(figure, directory);
  if (drawn.code() == base::StatusCode::kUnavailable) {
    std::fprintf(stderr, "%s\n", drawn.message().c_str());
    return std::string();
  }
  SUBMIX_RETURN_IF_ERROR(drawn);
  return base::ReadFile(base::JoinPath(directory, figure.name + ".svg"));
}

}  // namespace submix::apps

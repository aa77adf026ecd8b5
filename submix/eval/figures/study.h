// One figure or table of a paper as data: what is set for every point of its curves, and what the
// paper found. Who runs a setting, and what its numbers become, is the affair of the kind of study.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

template <typename Setting>
struct StudyPoint {
  double x = 0;
  Setting setting;
};

template <typename Setting>
struct StudyCurve {
  std::string name = {};
  std::vector<StudyPoint<Setting>> points = {};
};

// A number that the paper prints. Ours is that of a curve at x, or of a level.
struct PaperNumber {
  std::string what = {};
  double value = 0;
  std::string curve = {};  // empty: nothing of ours to set beside it
  double x = 0;            // without meaning for levels
};

template <typename Setting>
struct Study {
  Figure figure = {};  // without curves yet; its name is that on the command line
  std::vector<StudyCurve<Setting>> curves = {};
  std::vector<PaperNumber> paper = {};
  std::string reading = {};  // what the paper found and what differs, in sentences
};

// Every n-th of the values on an axis; the first always stays. Requires: every_nth >= 1.
inline std::vector<double> Thinned(const std::vector<double>& values, int every_nth) {
  std::vector<double> kept;
  for (std::size_t i = 0; i < values.size(); i += static_cast<std::size_t>(every_nth)) {
    kept.push_back(values[i]);
  }
  return kept;
}

// kNotFound, for a name that is none of these.
inline base::Status UnknownFigure(const std::string& name, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& figure : known) list += (list.empty() ? "" : ", ") + figure;
  return base::NotFoundError("there is no figure \"" + name + "\"; known: " + list);
}

}  // namespace submix::eval

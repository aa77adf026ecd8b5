// A figure as data: curves over one axis, each with the guarantee that it really has. Written as
// CSV for machines and as SVG (by gnuplot) for people, alone or on a page.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/status.h"

namespace submix::eval {

struct FigurePoint {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double x = 0;
  double y = 0;  // infinity or NaN: not plotted
  // A bar from low to high; kNone: no bar.
  double low = kNone;
  double high = kNone;
};

struct FigureCurve {
  std::string name = {};
  std::string guarantee = {};  // a few words, such as "sound, part level" or "none"
  // One point, whose y holds at every x: a dashed horizontal line.
  bool is_level = false;
  std::vector<FigurePoint> points = {};
};

struct Figure {
  std::string name = {};  // of the files: lower-case letters, digits and '-'
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  bool log_x = false;
  bool log_y = false;
  // The frame ends here: the legend says which curves lie above it. kNone: where the curves end.
  double top = FigurePoint::kNone;
  std::vector<FigureCurve> curves = {};
};

// What a figure was made of and how: a name and a value each.
using Provenance = std::vector<std::pair<std::string, std::string>>;

// The figure and its provenance. JSON, ended by a newline.
std::string FigureJson(const Figure& figure, const Provenance& provenance);

// One line a point: curve,x,y,low,high,guarantee. What is none or not finite is left empty.
std::string FigureCsv(const Figure& figure);

// The program for gnuplot, data included, that writes the SVG to its standard output.
std::string FigureScript(const Figure& figure);

// Writes DIRECTORY/NAME.csv and DIRECTORY/NAME.svg. Errors: those of writing; kUnavailable, with
// the CSV and DIRECTORY/NAME.gnuplot written, if gnuplot is missing or fails.
base::Status WriteFigure(const Figure& figure, const std::string& directory);

// Everything that one figure or table of a paper is written as.
struct FigurePage {
  Figure figure;  // its title is the page's
  std::string json = {};
  std::string body = {};  // of the page, behind the figure; HTML
  // Further files NAME.ENDING: ending and content.
  std::vector<std::pair<std::string, std::string>> files = {};
  Provenance provenance = {};  // at the end of the page; empty: none
};

// Writes the figure, NAME.json, NAME.html and the further files. Errors: as WriteFigure's; after
// kUnavailable all but the SVG is there.
base::Status WriteFigurePage(const FigurePage& page, const std::string& directory);

}  // namespace submix::eval

#include "submix/eval/pages/figure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>

#include "submix/base/csv.h"
#include "submix/base/file_system.h"
#include "submix/base/number_text.h"
#include "submix/eval/pages/html_page.h"

extern "C" char** environ;

namespace submix::eval {
namespace {

using base::Status;

// Told apart by people who see colours differently (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000", "#999999"};
// Levels are told apart by their dashes first.
constexpr std::size_t kLevelDashes = 4;
constexpr const char* kLevelColours[] = {"#777777", "#b03060"};

std::string Number(double value) { return std::isfinite(value) ? base::NumberText(value, 9) : ""; }

// gnuplot's name for what is missing.
std::string DataNumber(double value) {
  const std::string number = Number(value);
  return number.empty() ? "NaN" : number;
}

// Between single quotes gnuplot reads everything as it stands but the quote, which is doubled.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\n') continue;
    quoted += c == '\'' ? "''" : std::string(1, c);
  }
  return quoted + "'";
}

bool HasBars(const FigureCurve& curve) {
  return std::any_of(curve.points.begin(), curve.points.end(),
                     [](const FigurePoint& point) { return std::isfinite(point.low); });
}

std::string DataBlock(const Figure& figure, std::size_t index) {
  std::string block = "$curve" + std::to_string(index) + " << END\n";
  for (const FigurePoint& point : figure.curves[index].points) {
    block += DataNumber(point.x) + " " + DataNumber(point.y) + " " + DataNumber(point.low) + " " +
             DataNumber(point.high) + "\n";
  }
  return block + "END\n";
}

std::string Legend(const Figure& figure, const FigureCurve& curve) {
  const auto is_above = [&](const FigurePoint& point) { return point.y > figure.top; };
  const bool is_seen = curve.points.empty() || !std::ranges::all_of(curve.points, is_above);
  return is_seen ? curve.name : curve.name + ", above the frame";
}

std::string PlotTerm(const Figure& figure, std::size_t index, std::size_t levels_before) {
  const FigureCurve& curve = figure.curves[index];
  const std::string title = " title " + Quoted(Legend(figure, curve));
  if (curve.is_level) {
    const double y = curve.points.empty() ? FigurePoint::kNone : curve.points.front().y;
    const std::size_t repeats = levels_before / kLevelDashes % std::size(kLevelColours);
    return DataNumber(y) + " with lines linewidth 1.5 linecolor '" +
           std::string(kLevelColours[repeats]) + "' dashtype " +
           std::to_string(2 + levels_before % kLevelDashes) + title;
  }
  const std::string block = "$curve" + std::to_string(index);
  const std::size_t number = index - levels_before;
  const std::string colour =
      " linecolor '" + std::string(kColours[number % std::size(kColours)]) + "'";
  const std::string line = block +
                           " using 1:2 with linespoints linewidth 1.8 pointsize 0.7 pointtype " +
                           std::to_string(4 + number % 8) + " dashtype " +
                           std::to_string(1 + number / std::size(kColours)) + colour + title;
  if (!HasBars(curve)) return line;
  // The bars first: they would hide the points.
  return block + " using 1:2:3:4 with yerrorbars pointtype 0" + colour + " notitle, " + line;
}

// Where all points stand above one place, gnuplot would draw levels as wide as a point.
std::string RangeAroundOnePlace(const Figure& figure) {
  double least = INFINITY;
  double most = -INFINITY;
  for (const FigureCurve& curve : figure.curves) {
    if (curve.is_level) continue;
    for (const FigurePoint& point : curve.points) {
      least = std::min(least, point.x);
      most = std::max(most, point.x);
    }
  }
  if (least != most) return "";
  return "set xrange [" + Number(figure.log_x ? least / 2 : least - 1) + ":" +
         Number(figure.log_x ? least * 2 : least + 1) + "]\nset xtics (" + Number(least) + ")\n";
}

// Runs gnuplot on the script. False if there is none or it fails.
bool RunGnuplot(const std::string& script_path, const std::string& svg_path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, svg_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0644);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = "gnuplot";
  std::string script = script_path;
  char* const arguments[] = {program.data(), script.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  int result = -1;
  return error == 0 && ::waitpid(child, &result, 0) == child && result == 0;
}

}  // namespace

std::string FigureJson(const Figure& figure, const Provenance& provenance) {
  // Not finite becomes null.
  nlohmann::json json = {
      {"name", figure.name},
      {"title", figure.title},
      {"provenance", std::map<std::string, std::string>(provenance.begin(), provenance.end())},
      {"curves", nlohmann::json::array()}};
  for (const FigureCurve& curve : figure.curves) {
    nlohmann::json points = nlohmann::json::array();
    for (const FigurePoint& point : curve.points) {
      points.push_back({{"x", point.x}, {"y", point.y}, {"low", point.low}, {"high", point.high}});
    }
    json["curves"].push_back(
        {{"name", curve.name}, {"guarantee", curve.guarantee}, {"points", std::move(points)}});
  }
  return json.dump(1) + "\n";
}

std::string FigureCsv(const Figure& figure) {
  std::string csv = "curve,x,y,low,high,guarantee\n";
  for (const FigureCurve& curve : figure.curves) {
    for (const FigurePoint& point : curve.points) {
      csv += base::CsvRow({curve.name, curve.is_level ? "" : Number(point.x), Number(point.y),
                           Number(point.low), Number(point.high), curve.guarantee});
    }
  }
  return csv;
}

std::string FigureScript(const Figure& figure) {
  // The legend stands below, two columns of it.
  const std::size_t legend_lines = (figure.curves.size() + 1) / 2;
  std::string script =
      "set terminal svg size 820," + std::to_string(400 + 20 * legend_lines) +
      " font 'sans-serif,13' background '#ffffff'\n"
      "set encoding utf8\nset termoption noenhanced\nset grid linecolor '#dddddd'\n"
      "set key outside bottom center vertical Left reverse maxrows " +
      std::to_string(legend_lines) + " spacing 1.1\nset border 3\nset tics nomirror\n";
  script += "set title " + Quoted(figure.title) + "\n";
  script += "set xlabel " + Quoted(figure.x_label) + "\n";
  script += "set ylabel " + Quoted(figure.y_label) + "\n";
  if (figure.log_x) script += "set logscale x\n";
  if (figure.log_y) script += "set logscale y\n";
  script += RangeAroundOnePlace(figure);
  if (std::isfinite(figure.top)) script += "set yrange [:" + Number(figure.top) + "]\n";
  for (std::size_t i = 0; i < figure.curves.size(); ++i) script += DataBlock(figure, i);
  std::size_t levels = 0;
  std::string terms;
  for (std::size_t i = 0; i < figure.curves.size(); ++i) {
    if (!terms.empty()) terms += ", \\\n  ";
    terms += PlotTerm(figure, i, levels);
    if (figure.curves[i].is_level) ++levels;
  }
  return script + "plot " + terms + "\n";
}

Status WriteFigure(const Figure& figure, const std::string& directory) {
  const std::string path = base::JoinPath(directory, figure.name);
  SUBMIX_RETURN_IF_ERROR(base::MakeDirectories(directory));
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + ".csv", FigureCsv(figure)));
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + ".gnuplot", FigureScript(figure)));
  if (!RunGnuplot(path + ".gnuplot", path + ".svg.partial")) {
    SUBMIX_RETURN_IF_ERROR(base::RemoveAll(path + ".svg.partial"));
    return base::UnavailableError(path +
                                  ".svg: not drawn, gnuplot is missing or failed; install "
                                  "gnuplot-nox and run: gnuplot " +
                                  path + ".gnuplot > " + path + ".svg");
  }
  SUBMIX_RETURN_IF_ERROR(base::Rename(path + ".svg.partial", path + ".svg"));
  return base::RemoveAll(path + ".gnuplot");
}

Status WriteFigurePage(const FigurePage& page, const std::string& directory) {
  const std::string path = base::JoinPath(directory, page.figure.name);
  const Status plotted = WriteFigure(page.figure, directory);
  std::string svg;
  if (plotted.ok()) {
    SUBMIX_ASSIGN_OR_RETURN(svg, base::ReadFile(path + ".svg"));
  } else if (plotted.code() != base::StatusCode::kUnavailable) {
    return plotted;
  }
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + ".json", page.json));
  for (const auto& [ending, content] : page.files) {
    SUBMIX_RETURN_IF_ERROR(base::WriteFile(path + "." + ending, content));
  }
  HtmlTable provenance({"", ""});
  for (const auto& [name, value] : page.provenance) provenance.Row({name, value});
  SUBMIX_RETURN_IF_ERROR(base::WriteFile(
      path + ".html", HtmlPage(page.figure.title, HtmlFigure(svg) + page.body +
                                                      provenance.HtmlUnder("How it was made"))));
  return plotted;
}

}  // namespace submix::eval

// The names of `submix reproduce` that are figures and tables of DP-FedAvg: dp-fedavg-….
#pragma once

#include <string>

#include "submix/apps/command.h"
#include "submix/workbench/papers/federated_reproduction.h"

namespace submix::apps {

struct FederatedFigureOptions {
  std::string name;
  std::string output;
  workbench::FederatedRequest request;  // its directory is inside `output`
};

// Whether the name is one of these figures, known or misspelt.
bool IsFederatedFigure(const std::string& name);
// For the help: the names, and the one that stands for all.
std::string NamesOfFederatedFigures();

// The options that these figures have for themselves, in a group of their own.
void AddFederatedFigureFlags(CLI::App& command, FederatedFigureOptions& options);

// Once the command line is read: with --small, values for what was not asked for. Errors:
// kInvalidArgument for an option that goes with the other kind of figure, whichever it is.
base::Status CompleteFederatedFigureFlags(const CLI::App& command, bool is_federated,
                                          FederatedFigureOptions& options);

base::Status ReproduceFederated(FederatedFigureOptions options);

// Writes everything that a figure or table is, and prints where its page lies. Without gnuplot
// there is no SVG, and a line on stderr says so. Errors: those of writing.
base::Status WritePage(const eval::FigurePage& page, const std::string& directory);

}  // namespace submix::apps

// The names of `submix reproduce` that are figures and tables of DP-FedAvg: dp-fedavg-….
#pragma once

#include <string>

#include "submix/apps/command.h"
#include "submix/apps/figures/federated_trainings.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/pages/figure.h"

namespace submix::apps {

struct FederatedReproduction {
  std::string name;
  std::string output;
  eval::FederatedSize size;
  FederatedRecipe recipe;  // its directory is inside `output`
  bool is_small = false;
};

// Whether the name is one of these figures, known or misspelt.
bool IsFederatedFigure(const std::string& name);
// For the help: the names, and the one that stands for all.
std::string NamesOfFederatedFigures();

// The options that these figures have for themselves, in a group of their own.
void AddFederatedFigureFlags(CLI::App& command, FederatedReproduction& options);

// Once the command line is read: with --small, values for what was not asked for. Errors:
// kInvalidArgument for an option that goes with the other kind of figure, whichever it is.
base::Status CompleteFederatedFigureFlags(const CLI::App& command, bool is_federated,
                                          FederatedReproduction& options);

base::Status ReproduceFederated(FederatedReproduction options);

// Writes everything that a figure or table is, and prints where its page lies. Without gnuplot
// there is no SVG, and a line on stderr says so. Errors: those of writing.
base::Status WritePage(const eval::FigurePage& page, const std::string& directory);

}  // namespace submix::apps

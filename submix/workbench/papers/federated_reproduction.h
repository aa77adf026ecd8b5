// Figures and tables of DP-FedAvg's paper, from text to page.
#pragma once

#include <string>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/pages/figure.h"
#include "submix/workbench/papers/federated_trainings.h"

namespace submix::workbench {

struct FederatedRequest {
  eval::FederatedSize size;  // but the population
  FederatedRecipe recipe;
  bool is_small = false;  // said on the page
};

// Trains what the figures need, or goes on with it, in the recipe's directory. One thread at a
// time.
class FederatedReproduction {
 public:
  // `names`: what is going to be made. Errors: those of OpenFederatedModels.
  static base::StatusOr<FederatedReproduction> Create(FederatedRequest request,
                                                      const std::vector<std::string>& names);

  // Errors: those of eval::MakeFederatedPage. Requires: `name` is one of Create's.
  base::StatusOr<eval::FigurePage> Make(const std::string& name) const;

 private:
  explicit FederatedReproduction(FederatedRequest request) : request_(std::move(request)) {}

  FederatedRequest request_;
  FederatedModels models_;
};

}  // namespace submix::workbench

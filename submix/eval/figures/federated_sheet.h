// Everything that one figure or table of McMahan et al. 2018 (DP-FedAvg) is written as.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/figures/federated_setting.h"
#include "submix/eval/pages/figure.h"

namespace submix::eval {

struct FederatedSheet {
  Figure figure;  // drawn; its title is the page's
  std::string json = {};
  std::string body = {};  // of the page, behind the figure; HTML
  // Further files NAME.ENDING: ending and content.
  std::vector<std::pair<std::string, std::string>> files = {};
};

// The figures, then "dp-fedavg-table1" … "dp-fedavg-table3".
const std::vector<std::string>& FederatedNames();

// Whether any training is needed; Table 1 is computed.
bool NeedsTraining(const std::string& name);

// Trains and collects. Errors: kNotFound, listing the names, before anything is trained; those of
// the workshop.
base::StatusOr<FederatedSheet> MakeFederatedSheet(const std::string& name,
                                                  const FederatedSize& size,
                                                  const FederatedWorkshop& workshop);

}  // namespace submix::eval

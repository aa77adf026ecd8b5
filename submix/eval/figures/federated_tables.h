// The tables of McMahan et al. 2018 (DP-FedAvg).
#pragma once

#include "submix/base/status.h"
#include "submix/eval/figures/federated_figures.h"
#include "submix/eval/figures/federated_setting.h"
#include "submix/eval/figures/federated_sheet.h"

namespace submix::eval {

// What rounds cost for simulated populations, beside the 42 numbers that the paper prints. Nothing
// is trained.
base::StatusOr<FederatedSheet> FederatedTable1();

// Accuracy by simulated noise, epsilon by the accountant for the paper's populations; then what
// was really trained privately, with its own epsilon, also as private_training.csv:
// method,model,unit,epsilon,delta,perplexity,accuracy_top1,rounds.
base::StatusOr<FederatedSheet> FederatedTable2(const FederatedSize& size,
                                               const FederatedWorkshop& workshop);

// How far models keep to the most common words, also as head_words.csv.
base::StatusOr<FederatedSheet> FederatedTable3(const FederatedSize& size,
                                               const FederatedWorkshop& workshop);

}  // namespace submix::eval

// The state of a federated training between two rounds, in one file that is replaced atomically.
// Torch-free.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "submix/accounting/calculators/privacy_event.h"
#include "submix/base/status.h"

namespace submix::train {

struct FederatedState {
  std::int64_t round = 0;  // rounds done
  std::vector<float> parameters;
  // Held-out AccuracyTop1 of the last evaluations, oldest first.
  std::vector<double> recent_accuracies;

  // Of a private training: the account (training_account.h) as it was when this was written.
  double order = 0;                               // 0: no account
  std::vector<accounting::PrivacyEvent> history;  // SubsampledGaussianRun alone
};

// `identity` names the training: model, data, options. Errors: those of WriteSafetensors.
base::Status SaveFederatedState(const std::string& path, const std::string& identity,
                                const FederatedState& state);
// Requires that the file exists. Errors: kFailedPrecondition for a checkpoint of another training;
// kDataLoss for a damaged one or one with another number of parameters.
base::StatusOr<FederatedState> LoadFederatedState(const std::string& path,
                                                  const std::string& identity,
                                                  std::size_t num_parameters);

}  // namespace submix::train

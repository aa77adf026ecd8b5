// An ensemble as far as its files go: nothing that could be loaded. For tests.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "submix/ensemble/manifest.h"
#include "submix/ensemble/training_cost.h"

namespace submix::ensemble {

// Writes an ensemble of `manifest`, which says at least num_parts: with complete members, unless
// its models are external, each of the one file adapter_model.safetensors that holds `adapter`; and
// with a public model of config.json and `public_files`.
void WriteEnsemble(const std::string& directory, Manifest manifest,
                   const std::string& adapter = "a",
                   const std::map<std::string, std::string>& public_files = {});
inline void WriteEnsemble(const std::string& directory, int num_parts,
                          const std::string& adapter = "a") {
  Manifest manifest;
  manifest.num_parts = num_parts;
  WriteEnsemble(directory, std::move(manifest), adapter);
}

// Public files with this content of private_training.json; "": none.
inline std::map<std::string, std::string> PublicFilesOf(const std::string& training_cost) {
  if (training_cost.empty()) return {};
  return {{kTrainingCostFile, training_cost}};
}

}  // namespace submix::ensemble

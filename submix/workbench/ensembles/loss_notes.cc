#include "submix/workbench/ensembles/loss_notes.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <span>

#include "submix/base/file_system.h"
#include "submix/corpus/corpus_summary.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/preparation/user_list.h"
#include "submix/ensemble/training_cost.h"

namespace submix::workbench {

namespace {

struct Deployed {
  std::string directory;
  std::string lineage;
  std::vector<std::string> counted_in;  // lineages
};

// Deployments that the ensemble lists. One that is not where the manifest says counts in nothing.
std::vector<Deployed> DeploymentsOf(const ensemble::Manifest& manifest) {
  std::vector<Deployed> all;
  for (const ensemble::DeploymentEntry& entry : manifest.deployments) {
    Deployed& deployed = all.emplace_back();
    deployed.directory = entry.directory.empty() ? entry.name : entry.directory;
    deployed.lineage = entry.lineage;
    const auto config = engine::LoadDeploymentConfig(deployed.directory);
    if (config.ok()) deployed.counted_in = config->earlier.lineages;
  }
  return all;
}

// The model that `train --private` made in this directory; empty: none, or the one given.
std::string ReleasedModel(const std::string& ensemble_directory, const std::string& but_for) {
  const std::string released = base::JoinPath(ensemble_directory, "released");
  const std::string model = ensemble::PublicDirectory(released);
  const std::string cost = base::JoinPath(model, ensemble::kTrainingCostFile);
  if (!base::FileExists(cost)) return "";
  const auto own = base::ReadFile(base::JoinPath(but_for, ensemble::kTrainingCostFile));
  const auto its = base::ReadFile(cost);
  return own.ok() && its.ok() && *own == *its ? "" : released;
}

// What may have cost users something, by the ensemble whose users they are.
using Losses = std::map<std::string, std::string>;

// Of these ensembles: a deployment that no other counts in, or a released model.
Losses LossesOf(const std::set<std::string>& ensembles, const std::string& public_directory) {
  std::map<std::string, std::vector<Deployed>> deployed;
  std::set<std::string> counted_in;
  for (const std::string& ensemble : ensembles) {
    const auto manifest = ensemble::LoadManifest(ensemble);
    if (!manifest.ok()) continue;
    deployed[ensemble] = DeploymentsOf(*manifest);
    for (const Deployed& one : deployed[ensemble]) {
      counted_in.insert(one.counted_in.begin(), one.counted_in.end());
    }
  }
  Losses losses;
  for (const auto& [ensemble, all] : deployed) {
    const auto uncounted = std::ranges::find_if(
        all, [&](const Deployed& one) { return !counted_in.contains(one.lineage); });
    const std::string released = ReleasedModel(ensemble, public_directory);
    if (uncounted != all.end()) {
      losses[ensemble] = uncounted->directory;
    } else if (!released.empty()) {
      losses[ensemble] = released;
    }
  }
  return losses;
}

// "DEPLOYMENT (12 of these 26 users), MODEL (keeps no list of its users) and 3 more"; empty if they
// cost none of these users anything.
std::string Listed(const Losses& losses, std::span<const ensemble::SharedUsers> all) {
  constexpr int kMostNamed = 3;
  std::string said;
  int count = 0;
  for (const ensemble::SharedUsers& held : all) {
    if (held.shared == 0 || ++count > kMostNamed) continue;
    const std::string whom = held.shared.has_value() ? std::to_string(*held.shared) + " of these " +
                                                           std::to_string(held.in_corpus) + " users"
                                                     : "keeps no list of its users";
    said += (said.empty() ? "" : ", ") + losses.at(held.ensemble) + " (" + whom + ")";
  }
  if (count > kMostNamed) said += " and " + std::to_string(count - kMostNamed) + " more";
  return said;
}

}  // namespace

base::StatusOr<std::string> WhatAddsUp(const NewEnsemble& made,
                                       const std::vector<std::string>& deployments) {
  const auto beside = ensemble::EnsemblesBeside(made.directory);
  std::set<std::string> ensembles(beside.begin(), beside.end());
  for (const std::string& deployment : deployments) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    ensembles.insert(config.ensemble_directory);
  }
  const Losses losses = LossesOf(ensembles, made.public_directory);
  std::vector<std::string> names;
  for (const auto& [name, loss] : losses) names.push_back(name);
  SUBMIX_ASSIGN_OR_RETURN(const auto all, ensemble::CountSharedUsers(made.corpus, names));
  const std::string listed = Listed(losses, all);
  if (listed.empty()) return listed;
  return "Budgets over the same users add up: " + listed +
         "; count deployments in by `submix deploy --after`, and stand on a released model by "
         "--public.";
}

base::StatusOr<std::vector<std::string>> WhatStandsOut(const corpus::CorpusFile& corpus, int parts,
                                                       bool names_cap) {
  std::vector<std::string> lines;
  if (!std::filesystem::is_regular_file(corpus.path)) return lines;
  SUBMIX_ASSIGN_OR_RETURN(const auto summary, corpus::SummarizeCorpus(corpus));
  if (names_cap && summary.users > 1 && summary.bytes_of_largest > summary.bytes / 2) {
    const auto percent = std::lround(100.0 * static_cast<double>(summary.bytes_of_largest) /
                                     static_cast<double>(summary.bytes));
    lines.push_back("For you alone: one of the " + std::to_string(summary.users) + " users has " +
                    std::to_string(percent) +
                    " % of the text, and fills its part; --tokens-per-user N, a public number, "
                    "reads of each user the first N tokens.");
  }
  // Not refused: whether an ensemble is made must not depend on who is in the corpus (Theorem 5).
  if (summary.users < parts) {
    lines.push_back("For you alone: " + std::to_string(summary.users) + " users for " +
                    std::to_string(parts) +
                    " parts, so that some have no text; with 4 or more users a part there is "
                    "something to learn.");
  }
  if (summary.shared_records > 0) {
    lines.push_back("For you alone: " + std::to_string(summary.shared_records) +
                    " records have several owners, and nobody learns them: give parts of them to "
                    "one owner each if that is right.");
  }
  if (summary.keys_alike > 0) {
    lines.push_back("For you alone: " + std::to_string(summary.keys_alike) +
                    " user keys differ from another in Unicode form alone, such as an accent that "
                    "is a character of its own; each counts as a user: write one person's key in "
                    "one form.");
  }
  return lines;
}

std::string MembersWithoutText(const ensemble::Manifest& manifest) {
  const auto count =
      std::ranges::count_if(manifest.members, &ensemble::MemberEntry::is_public_model);
  if (count == 0) return "";
  return "For you alone: " + std::to_string(count) + " of the " +
         std::to_string(manifest.members.size()) +
         " members got no text and are the public model; do not publish this number, nor choose "
         "--parts or a key by it.";
}

}  // namespace submix::workbench

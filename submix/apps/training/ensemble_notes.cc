#include "submix/apps/training/ensemble_notes.h"

#include <algorithm>
#include <filesystem>

#include "submix/corpus/corpus_summary.h"
#include "submix/engine/deployment.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/ensemble/manifest.h"
#include "submix/ensemble/preparation/user_list.h"

namespace submix::apps {

base::Status SayWhoIsHeldAlready(const corpus::CorpusFile& corpus,
                                 const std::string& ensemble_directory,
                                 const std::vector<std::string>& deployments, std::FILE* out) {
  std::vector<std::string> ensembles = ensemble::EnsemblesBeside(ensemble_directory);
  for (const std::string& deployment : deployments) {
    SUBMIX_ASSIGN_OR_RETURN(const auto config, engine::LoadDeploymentConfig(deployment));
    const std::string& named = config.ensemble_directory;
    if (std::ranges::find(ensembles, named) == ensembles.end()) ensembles.push_back(named);
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto all, ensemble::CountSharedUsers(corpus, ensembles));
  for (const ensemble::SharedUsers& held : all) {
    if (held.shared == 0) continue;
    const std::string who = held.shared.has_value()
                                ? "has read " + std::to_string(*held.shared) + " of these " +
                                      std::to_string(held.in_corpus) + " users already"
                                : "keeps no list of its users, and may have read these";
    std::fprintf(out,
                 "%s %s: budgets over the same users add up; count its deployment in by `submix "
                 "deploy --after`.\n",
                 held.ensemble.c_str(), who.c_str());
  }
  return base::OkStatus();
}

base::Status SayWhatStandsOut(const corpus::CorpusFile& corpus, bool names_cap, std::FILE* out) {
  if (!std::filesystem::is_regular_file(corpus.path)) return base::OkStatus();
  SUBMIX_ASSIGN_OR_RETURN(const auto summary, corpus::SummarizeCorpus(corpus));
  if (names_cap && summary.users > 1 && summary.bytes_of_largest > summary.bytes / 2) {
    std::fprintf(
        out,
        "For you alone: one of the %lld users has %.0f %% of the text, and fills its part; "
        "--tokens-per-user N, a public number, reads of each user the first N tokens.\n",
        static_cast<long long>(summary.users),
        100.0 * static_cast<double>(summary.bytes_of_largest) / static_cast<double>(summary.bytes));
  }
  if (summary.keys_alike > 0) {
    std::fprintf(out,
                 "For you alone: %lld user keys differ from another in Unicode form alone, such as "
                 "an accent that is a character of its own; each counts as a user: write one "
                 "person's key in one form.\n",
                 static_cast<long long>(summary.keys_alike));
  }
  return base::OkStatus();
}

base::Status PrintMembersWithoutText(const std::string& ensemble_directory) {
  SUBMIX_ASSIGN_OR_RETURN(const auto manifest, ensemble::LoadManifest(ensemble_directory));
  const auto count =
      std::ranges::count_if(manifest.members, &ensemble::MemberEntry::is_public_model);
  if (count == 0) return base::OkStatus();
  std::printf(
      "For you alone: %td of the %zu members got no text and are the public model; do not publish "
      "this number, nor choose --parts or a key by it.\n",
      count, manifest.members.size());
  return base::OkStatus();
}

}  // namespace submix::apps

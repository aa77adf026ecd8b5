#include "submix/workbench/attacking/neighbouring_worlds.h"

#include <map>
#include <set>
#include <utility>

#include "submix/base/progress_bar.h"
#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/audits/asked_queries.h"

namespace submix::workbench {
namespace {

using base::StatusOr;
using eval::DistinguishingGame;

// Files under a directory of the ensemble, without that directory's name, and their hashes.
std::map<std::string, std::string> FilesUnder(const ensemble::Manifest& manifest,
                                              const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& [path, sha256] : manifest.file_sha256) {
    if (path.starts_with(directory + "/")) files[path.substr(directory.size() + 1)] = sha256;
  }
  return files;
}

// What the world without the text has in the place of some members.
struct Replacements {
  std::vector<eval::RowReplacement> rows;
  std::vector<std::string> extra_members;  // directories
};

// The members of another ensemble that are not those of the target.
StatusOr<Replacements> FromOtherEnsemble(const std::string& directory, const AttackTarget& target) {
  SUBMIX_ASSIGN_OR_RETURN(const auto other, ensemble::LoadManifest(directory));
  const ensemble::Manifest& own = target.ensemble.manifest();
  if (other.num_parts != own.num_parts || other.halves != own.halves ||
      FilesUnder(other, "public") != FilesUnder(own, "public")) {
    return base::InvalidArgumentError(
        directory + ": expected the same public model, parts and halves as the target");
  }
  Replacements replacements;
  std::set<std::size_t> parts;
  for (std::size_t m = 0; m < own.members.size(); ++m) {
    if (FilesUnder(other, other.members[m].directory) ==
        FilesUnder(own, own.members[m].directory)) {
      continue;
    }
    parts.insert(m / static_cast<std::size_t>(own.halves));
    replacements.rows.push_back(
        {1 + m, 1 + own.members.size() + replacements.extra_members.size()});
    replacements.extra_members.push_back(ensemble::MemberPath(directory, other.members[m]));
  }
  if (parts.size() != 1) {
    return base::InvalidArgumentError(directory + ": differs from the target in " +
                                      std::to_string(parts.size()) +
                                      " parts, expected one: train it on the same text without one "
                                      "user, options and key the same");
  }
  return replacements;
}

StatusOr<int> PartOfUser(const std::string& user, const AttackTarget& target) {
  if (target.ensemble.manifest().has_public_keys()) {
    return base::InvalidArgumentError(
        "user: the list of users says who is in which part here; give --part, which is one user");
  }
  SUBMIX_ASSIGN_OR_RETURN(
      const auto key,
      corpus::LoadPartitionKey(ensemble::PartitionKeyPath(target.ensemble.directory())));
  const ensemble::Manifest& manifest = target.ensemble.manifest();
  const corpus::Placement placement = corpus::PlaceUser(
      key, user, {manifest.num_parts, manifest.halves, manifest.heldout_fraction});
  if (placement.is_heldout) {
    return base::InvalidArgumentError("user: held out of the training, in no part to attack");
  }
  return placement.part.index;
}

StatusOr<int> AttackedPart(const NeighbourRequest& neighbour, const AttackTarget& target) {
  if (!neighbour.user.empty()) return PartOfUser(neighbour.user, target);
  if (neighbour.part < target.ensemble.manifest().num_parts) return neighbour.part;
  return base::InvalidArgumentError("part: expected 0 to " +
                                    std::to_string(target.ensemble.manifest().num_parts - 1) +
                                    ", found " + std::to_string(neighbour.part));
}

StatusOr<Replacements> FindReplacements(const NeighbourRequest& neighbour,
                                        const AttackTarget& target) {
  if (!neighbour.without.empty()) return FromOtherEnsemble(neighbour.without, target);
  SUBMIX_ASSIGN_OR_RETURN(const int part, AttackedPart(neighbour, target));
  return Replacements{eval::ReplacedByPublic(part, target.ensemble.manifest().halves), {}};
}

StatusOr<eval::HeldoutBlocks> AskedText(const NeighbourRequest& neighbour,
                                        const tokenizer::Tokenizer& tokenizer, int context_length) {
  if (!neighbour.user.empty()) {
    return eval::HeldoutOfUser(neighbour.text, neighbour.user, tokenizer, context_length);
  }
  SUBMIX_ASSIGN_OR_RETURN(auto text,
                          eval::HeldoutFromFile(neighbour.text, tokenizer, context_length));
  return std::move(text.blocks);
}

StatusOr<std::vector<DistinguishingGame>> MakeGames(const AttackRequest& request,
                                                    const NeighbourRequest& neighbour,
                                                    const AttackTarget& target) {
  std::vector<DistinguishingGame> games;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    SUBMIX_ASSIGN_OR_RETURN(
        DistinguishingGame game,
        DistinguishingGame::Create({attacked.mechanism, target.ensemble.manifest().num_parts,
                                    attacked.epsilon, target.ensemble.manifest().halves},
                                   {neighbour.transcripts, attacked.options.order, request.seed}));
    games.push_back(std::move(game));
  }
  return games;
}

}  // namespace

accounting::PrivacyUnit UnitOf(const NeighbourRequest& neighbour) {
  return neighbour.without.empty() ? accounting::PrivacyUnit::kPart
                                   : accounting::PrivacyUnit::kUserKey;
}

StatusOr<std::vector<DistinguishingGame>> PlayGames(const AttackRequest& request,
                                                    const NeighbourRequest& neighbour,
                                                    const AttackTarget& target) {
  SUBMIX_ASSIGN_OR_RETURN(Replacements replacements, FindReplacements(neighbour, target));
  SUBMIX_ASSIGN_OR_RETURN(auto games, MakeGames(request, neighbour, target));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadTargetPredictor(request, target, replacements.extra_members));
  SUBMIX_ASSIGN_OR_RETURN(const auto text,
                          AskedText(neighbour, *target.tokenizer, predictor->context_length()));
  eval::NeighbouringWorlds worlds(target.ensemble.manifest().num_parts,
                                  target.ensemble.manifest().halves, predictor->vocab_size(),
                                  std::move(replacements.rows));
  const eval::QueryPlan plan = {request.tokens, neighbour.asks == "most-telling"};
  base::ProgressBar progress("Asking", eval::QuerySteps(text, plan, games.size()), "queries");
  SUBMIX_RETURN_IF_ERROR(eval::AskQueries(*predictor, text, worlds, plan, games, progress));
  progress.Finish();
  return games;
}

StatusOr<std::vector<eval::OneRunGame>> PlayOneRunGames(const AttackRequest& request,
                                                        const std::string& text, int runs,
                                                        const AttackTarget& target) {
  const ensemble::Manifest& manifest = target.ensemble.manifest();
  std::vector<eval::OneRunGame> games;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    SUBMIX_ASSIGN_OR_RETURN(eval::OneRunGame game,
                            eval::OneRunGame::Create({attacked.mechanism, manifest.num_parts,
                                                      attacked.epsilon, manifest.halves},
                                                     {runs, request.seed}));
    games.push_back(std::move(game));
  }
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor, LoadTargetPredictor(request, target));
  SUBMIX_ASSIGN_OR_RETURN(const auto asked, eval::HeldoutFromFile(text, *target.tokenizer,
                                                                  predictor->context_length()));
  base::ProgressBar progress("Asking", request.tokens, "queries");
  SUBMIX_RETURN_IF_ERROR(eval::AskAllParts(*predictor, asked.blocks, manifest.num_parts,
                                           manifest.halves, request.tokens, games, progress));
  progress.Finish();
  return games;
}

}  // namespace submix::workbench

#include "submix/apps/attacking/neighbour_flags.h"

#include <map>
#include <set>
#include <utility>

#include "submix/corpus/partition.h"
#include "submix/ensemble/ensemble_directory.h"
#include "submix/eval/audits/asked_queries.h"

namespace submix::apps {
namespace {

using base::Status;
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

StatusOr<int> AttackedPart(const NeighbourFlags& flags, const AttackTarget& target) {
  if (!flags.user.empty()) return PartOfUser(flags.user, target);
  if (flags.part < target.ensemble.manifest().num_parts) return flags.part;
  return base::InvalidArgumentError("part: expected 0 to " +
                                    std::to_string(target.ensemble.manifest().num_parts - 1) +
                                    ", found " + std::to_string(flags.part));
}

StatusOr<Replacements> FindReplacements(const NeighbourFlags& flags, const AttackTarget& target) {
  if (!flags.without.empty()) return FromOtherEnsemble(flags.without, target);
  SUBMIX_ASSIGN_OR_RETURN(const int part, AttackedPart(flags, target));
  return Replacements{eval::ReplacedByPublic(part, target.ensemble.manifest().halves), {}};
}

StatusOr<eval::HeldoutBlocks> AskedText(const NeighbourFlags& flags,
                                        const tokenizer::Tokenizer& tokenizer, int context_length) {
  if (!flags.user.empty()) {
    return eval::HeldoutOfUser(flags.text, flags.user, tokenizer, context_length);
  }
  SUBMIX_ASSIGN_OR_RETURN(auto text, eval::HeldoutFromFile(flags.text, tokenizer, context_length));
  return std::move(text.blocks);
}

StatusOr<std::vector<DistinguishingGame>> MakeGames(const TargetFlags& target_flags,
                                                    const NeighbourFlags& flags,
                                                    const AttackTarget& target) {
  std::vector<DistinguishingGame> games;
  for (const AttackedMechanism& attacked : target.mechanisms) {
    SUBMIX_ASSIGN_OR_RETURN(
        DistinguishingGame game,
        DistinguishingGame::Create({attacked.mechanism, target.ensemble.manifest().num_parts,
                                    attacked.epsilon, target.ensemble.manifest().halves},
                                   {flags.transcripts, attacked.options.order, target_flags.seed}));
    games.push_back(std::move(game));
  }
  return games;
}

}  // namespace

void AddNeighbourFlags(Flags flags, NeighbourFlags& neighbours) {
  flags.Require("--text", neighbours.text, kFile,
                "What is asked: each position of this text is a query. The attacked user's own "
                "text tells most. .jsonl, .csv or plain text");
  CLI::Option* const user = flags.Add("--user", neighbours.user,
                                      "Ask only what this user wrote, of a --text of all users' "
                                      "(.jsonl, .csv), and attack the part that the user is in");
  flags
      .Add("--part", neighbours.part, kNonNegative,
           "The part that is there in one world, and the public model in the other")
      ->excludes(user);
  flags.Add(
      "--without", neighbours.without, kDirectory,
      "Instead, the other world: an ensemble trained without one user, the other parts the same");
  flags.Add("--ask", neighbours.asks, OneOf({"each", "most-telling"}),
            "each: the first --queries positions, once; most-telling: of the whole text the one "
            "that tells most, --queries times");
  flags.Add("--transcripts", neighbours.transcripts, Between(2, 100000000),
            "Drawn in each world. A mechanism with noise of its own runs once for each");
}

accounting::PrivacyUnit UnitOf(const NeighbourFlags& flags) {
  return flags.without.empty() ? accounting::PrivacyUnit::kPart : accounting::PrivacyUnit::kUserKey;
}

StatusOr<std::vector<DistinguishingGame>> PlayGames(const TargetFlags& target_flags,
                                                    const NeighbourFlags& flags,
                                                    const AttackTarget& target) {
  SUBMIX_ASSIGN_OR_RETURN(Replacements replacements, FindReplacements(flags, target));
  SUBMIX_ASSIGN_OR_RETURN(auto games, MakeGames(target_flags, flags, target));
  SUBMIX_ASSIGN_OR_RETURN(const auto predictor,
                          LoadTargetPredictor(target_flags, target, replacements.extra_members));
  SUBMIX_ASSIGN_OR_RETURN(const auto text,
                          AskedText(flags, *target.tokenizer, predictor->context_length()));
  eval::NeighbouringWorlds worlds(target.ensemble.manifest().num_parts,
                                  target.ensemble.manifest().halves, predictor->vocab_size(),
                                  std::move(replacements.rows));
  const eval::QueryPlan plan = {target_flags.queries, flags.asks == "most-telling"};
  base::ProgressBar progress("Asking", eval::QuerySteps(text, plan, games.size()), "queries");
  SUBMIX_RETURN_IF_ERROR(eval::AskQueries(*predictor, text, worlds, plan, games, progress));
  progress.Finish();
  return games;
}

}  // namespace submix::apps

#include "submix/eval/audits/asked_queries.h"

#include <algorithm>
#include <string>
#include <utility>

#include "submix/base/check.h"

namespace submix::eval {
namespace {

using base::Status;

Status CheckLength(const HeldoutBlocks& text, std::int64_t queries) {
  if (CountScoredTokens(text) >= queries) return base::OkStatus();
  return base::InvalidArgumentError("the text has " + std::to_string(CountScoredTokens(text)) +
                                    " positions to ask for, expected at least " +
                                    std::to_string(queries) + ": give more text or fewer queries");
}

// Calls visit(logits) for the first `count` positions of the text.
template <typename Visit>
Status ForEachPosition(ensemble::Predictor& predictor, const HeldoutBlocks& text,
                       std::int64_t count, const Visit& visit) {
  std::int64_t left = count;
  for (const std::vector<base::TokenId>& block : text) {
    if (left == 0) break;
    const auto positions = std::min<std::int64_t>(left, std::ssize(block) - 1);
    const auto tokens = std::span(block).first(static_cast<std::size_t>(positions + 1));
    SUBMIX_RETURN_IF_ERROR(predictor.Score(
        tokens, 1, [&](std::size_t, std::span<const float> logits) { return visit(logits); }));
    left -= positions;
  }
  return base::OkStatus();
}

struct TellingPosition {
  double divergence = -1;
  std::vector<float> logits;
};

Status AskMostTelling(ensemble::Predictor& predictor, const HeldoutBlocks& text,
                      NeighbouringWorlds& worlds, std::int64_t queries,
                      std::span<DistinguishingGame> games, base::ProgressBar& progress) {
  std::vector<TellingPosition> best(games.size());
  const auto compare = [&](std::span<const float> logits) -> Status {
    SUBMIX_RETURN_IF_ERROR(worlds.Map(logits));
    for (std::size_t i = 0; i < games.size(); ++i) {
      SUBMIX_ASSIGN_OR_RETURN(const double divergence,
                              games[i].FirstAnswerDivergence(worlds.with(), worlds.without()));
      if (divergence > best[i].divergence) {
        best[i] = {divergence, std::vector<float>(logits.begin(), logits.end())};
      }
    }
    progress.Advance(1);
    return base::OkStatus();
  };
  SUBMIX_RETURN_IF_ERROR(ForEachPosition(predictor, text, CountScoredTokens(text), compare));
  for (std::size_t i = 0; i < games.size(); ++i) {
    SUBMIX_RETURN_IF_ERROR(worlds.Map(best[i].logits));
    for (std::int64_t query = 0; query < queries; ++query) {
      SUBMIX_RETURN_IF_ERROR(games[i].Ask(worlds.with(), worlds.without()));
      progress.Advance(1);
    }
  }
  return base::OkStatus();
}

}  // namespace

std::vector<RowReplacement> ReplacedByPublic(int part, int halves) {
  std::vector<RowReplacement> replacements;
  for (int half = 0; half < halves; ++half) {
    replacements.push_back({1 + static_cast<std::size_t>(part * halves + half), 0});
  }
  return replacements;
}

NeighbouringWorlds::NeighbouringWorlds(int num_parts, int halves, int vocab_size,
                                       std::vector<RowReplacement> replacements)
    : rows_(static_cast<std::size_t>(num_parts * halves)),
      halves_(halves),
      vocab_size_(static_cast<std::size_t>(vocab_size)),
      replacements_(std::move(replacements)) {
  for (const RowReplacement& replacement : replacements_) {
    SUBMIX_CHECK(replacement.row >= 1 && replacement.row <= rows_, "not a row of a part's member");
  }
}

base::Status NeighbouringWorlds::Map(std::span<const float> logits) {
  const auto public_logits = logits.first(vocab_size_);
  const auto members = logits.subspan(vocab_size_, rows_ * vocab_size_);
  SUBMIX_RETURN_IF_ERROR(with_.Map(public_logits, members, halves_, {}));
  replaced_.assign(members.begin(), members.end());
  for (const RowReplacement& replacement : replacements_) {
    const auto by = logits.subspan(replacement.by * vocab_size_, vocab_size_);
    std::copy(by.begin(), by.end(),
              replaced_.begin() + static_cast<std::ptrdiff_t>((replacement.row - 1) * vocab_size_));
  }
  return without_.Map(public_logits, replaced_, halves_, {});
}

std::int64_t QuerySteps(const HeldoutBlocks& text, const QueryPlan& plan, std::size_t games) {
  if (!plan.only_most_telling) return plan.queries;
  return CountScoredTokens(text) + plan.queries * static_cast<std::int64_t>(games);
}

Status AskQueries(ensemble::Predictor& predictor, const HeldoutBlocks& text,
                  NeighbouringWorlds& worlds, const QueryPlan& plan,
                  std::span<DistinguishingGame> games, base::ProgressBar& progress) {
  SUBMIX_RETURN_IF_ERROR(CheckLength(text, plan.only_most_telling ? 1 : plan.queries));
  if (plan.only_most_telling) {
    return AskMostTelling(predictor, text, worlds, plan.queries, games, progress);
  }
  const auto ask = [&](std::span<const float> logits) -> Status {
    SUBMIX_RETURN_IF_ERROR(worlds.Map(logits));
    for (DistinguishingGame& game : games) {
      SUBMIX_RETURN_IF_ERROR(game.Ask(worlds.with(), worlds.without()));
    }
    progress.Advance(1);
    return base::OkStatus();
  };
  return ForEachPosition(predictor, text, plan.queries, ask);
}

Status AskAllParts(ensemble::Predictor& predictor, const HeldoutBlocks& text, int num_parts,
                   int halves, std::int64_t queries, std::span<OneRunGame> games,
                   base::ProgressBar& progress) {
  SUBMIX_RETURN_IF_ERROR(CheckLength(text, queries));
  const auto vocab_size = static_cast<std::size_t>(predictor.vocab_size());
  const auto rows = static_cast<std::size_t>(num_parts * halves);
  mechanism::MappedPredictions mapped;
  const auto ask = [&](std::span<const float> logits) -> Status {
    SUBMIX_RETURN_IF_ERROR(mapped.Map(logits.first(vocab_size),
                                      logits.subspan(vocab_size, rows * vocab_size), halves, {}));
    for (OneRunGame& game : games) SUBMIX_RETURN_IF_ERROR(game.Ask(mapped.view()));
    progress.Advance(1);
    return base::OkStatus();
  };
  return ForEachPosition(predictor, text, queries, ask);
}

}  // namespace submix::eval

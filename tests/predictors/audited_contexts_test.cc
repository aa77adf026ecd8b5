// The audit against members by context, whose claim it may not reject, and against two with a
// planted bug, which it must: what members read depends on other parts' records, while every part
// is charged for its own row alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "submix/base/testing/status_matchers.h"
#include "submix/contexts/context_ensemble.h"
#include "submix/contexts/context_predictor.h"
#include "submix/contexts/record_search.h"
#include "submix/eval/audits/claimed_bounds.h"
#include "submix/eval/audits/distinguishing_game.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/mechanism/mapped_predictions.h"
#include "submix/mechanism/research/any_mechanism.h"
#include "submix/tokenizer/tokenizer.h"

namespace submix::eval {
namespace audited_contexts_test {

using base::TokenId;
using contexts::MemberContexts;
using contexts::RecordSearch;
using contexts::Tokens;
using ensemble::Retrieval;
using Logits = std::vector<float>;
using Texts = std::vector<std::vector<std::string>>;  // [parts], records
using Records = std::vector<std::vector<Tokens>>;

constexpr int kParts = 16;
constexpr std::size_t kFound = kParts - 1;  // records, by the search over all parts
constexpr int kContextTokens = 64;
constexpr double kBudget = 2;
constexpr int kAnswersPaidFor = 8;  // at the cap; most answers cost less
constexpr int kAnswers = 64;
constexpr char kQuery[] = "Zanzibar porcupine: the king is";

std::string Repeated(const std::string& text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// --- the planted bugs: what members read, in this order

std::vector<Tokens> Pooled(const Records& records) {
  std::vector<Tokens> pooled;
  for (const auto& own : records) pooled.insert(pooled.end(), own.begin(), own.end());
  return pooled;
}

// The best of all records, whosever they are.
Records BestOfAll(const Records& records, const Tokens& query) {
  std::vector<std::size_t> owners;
  for (std::size_t part = 0; part < records.size(); ++part) {
    owners.insert(owners.end(), records[part].size(), part);
  }
  const std::vector<Tokens> pooled = Pooled(records);
  std::vector<int> found = RecordSearch(pooled).Ranked(query);
  found.resize(kFound);
  Records read(records.size());
  for (const int record : found) {
    const auto at = static_cast<std::size_t>(record);
    read[owners[at]].push_back(pooled[at]);
  }
  return read;
}

// Each member's own record that scores best by document frequencies and lengths of all parts.
Records OwnByStatisticsOfAll(const Records& records, const Tokens& query) {
  const std::vector<double> scores = RecordSearch(Pooled(records)).Scores(query);
  Records read;
  auto score = scores.begin();
  for (const auto& own : records) {
    std::vector<Tokens>& best = read.emplace_back();
    const auto end = score + std::ssize(own);
    if (!own.empty()) best = {own[static_cast<std::size_t>(std::max_element(score, end) - score)]};
    score = end;
  }
  return read;
}

// --- the worlds: part 0 with its records and without them

class AuditedContextsTest : public ::testing::Test {
 protected:
  AuditedContextsTest()
      : tokenizer_(*tokenizer::Tokenizer::LoadFor(kPublic, /*vocab_size=*/1 << 20)),
        query_(tokenizer_->EncodePrompt(kQuery).value()) {}

  Records Encoded(const Texts& texts) const {
    Records records(texts.size());
    for (std::size_t part = 0; part < texts.size(); ++part) {
      for (const std::string& text : texts[part])
        records[part].push_back(tokenizer_->Encode(text).value());
    }
    return records;
  }

  // What all members say after the query.
  mechanism::MappedPredictions Predictions(Records records, Retrieval retrieval) const {
    decode::CpuPredictorOptions options;
    options.public_directory = kPublic;
    options.precision = decode::Precision::kFloat32;
    options.threads = 2;
    const ensemble::Contexts read = {kContextTokens, retrieval};
    const auto predictor = *contexts::MakeContextPredictor(
        *decode::CpuPredictor::Load(options),
        MemberContexts(read, *contexts::FrameOf(read, *tokenizer_), std::move(records)));
    const auto vocabulary = static_cast<std::size_t>(predictor->vocab_size());
    Logits logits((kParts + 1) * vocabulary);
    SUBMIX_EXPECT_OK(predictor->Step(
        std::vector{ensemble::Predictor::Append{predictor->Open(), query_}}, logits));
    mechanism::MappedPredictions mapped;
    SUBMIX_EXPECT_OK(mapped.Map(std::span(logits).first(vocabulary),
                                std::span(logits).subspan(vocabulary), /*halves=*/1, {}));
    return mapped;
  }

  struct Worlds {
    mechanism::MappedPredictions with;
    mechanism::MappedPredictions without;
  };
  using Read = std::function<Records(const Records&, const Tokens&)>;

  Worlds Honest(const Texts& texts) const {
    Records records = Encoded(texts);
    auto with = Predictions(records, Retrieval::kBm25);
    records[0].clear();
    return {std::move(with), Predictions(records, Retrieval::kBm25)};
  }
  Worlds Broken(const Texts& texts, const Read& read) const {
    Records records = Encoded(texts);
    auto with = Predictions(read(records, query_), Retrieval::kNone);
    records[0].clear();
    return {std::move(with), Predictions(read(records, query_), Retrieval::kNone)};
  }

  struct Verdict {
    double proven = 0;
    double claimed = 0;
  };

  // The same query again and again.
  static Verdict Audit(const std::string& name, const Worlds& worlds, std::uint64_t seed) {
    mechanism::MechanismOptions mechanism_options;
    mechanism_options.name = name;
    mechanism_options.num_parts = kParts;
    mechanism_options.target_leakage = kBudget / kAnswersPaidFor;
    const std::shared_ptr<const mechanism::Mechanism> mechanism =
        *mechanism::MakeAnyMechanism(mechanism_options);
    auto game = *DistinguishingGame::Create({mechanism, kParts, kBudget},
                                            {.transcripts = 10000, .seed = seed});
    for (int i = 0; i < kAnswers; ++i) {
      SUBMIX_EXPECT_OK(game.Ask(worlds.with.view(), worlds.without.view()));
    }
    const ClaimedBounds claim = *ClaimOf(*mechanism, kBudget, accounting::PrivacyUnit::kPart, 1e-5);
    AuditOptions audit;
    audit.error = 1e-6;
    audit.order = claim.bounds[0].order;
    return {AuditEpsilon(game.with(), game.without(), audit).rdp, claim.bounds[0].rdp};
  }

  // Of the ensemble as it is, and of the one with the bug, on the same text.
  void ExpectTheBugIsFound(const Texts& texts, const Read& read) const {
    const Worlds honest = Honest(texts);
    const Worlds broken = Broken(texts, read);
    for (const char* name : {"filtered-submix", "filtered-dclip"}) {
      const Verdict sound = Audit(name, honest, 1);
      EXPECT_LE(sound.proven, sound.claimed) << name;
      EXPECT_GT(sound.proven, 0) << name << ": an audit that finds nothing";
      const Verdict bug = Audit(name, broken, 2);
      EXPECT_GT(bug.proven, bug.claimed) << name << ": the planted bug was not found";
      RecordProperty(name, std::to_string(sound.proven) + " " + std::to_string(bug.proven));
    }
  }

  const std::string kPublic = std::string(SUBMIX_DATA_DIR) + "/public_model";
  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_;
  const Tokens query_;
};

// Part 0 has as many records as are found, and they push the others' out, which say the opposite.
TEST_F(AuditedContextsTest, ASearchOverAllPartsIsFound) {
  Texts texts(kParts, {Repeated("the king is alive. ", 8)});
  texts[0].assign(kFound, "Zanzibar porcupine: " + Repeated("the king is dead. ", 6));
  ExpectTheBugIsFound(texts, BestOfAll);
}

// Part 0 makes a word of the query common, and so all others read another of their records.
TEST_F(AuditedContextsTest, StatisticsOverAllPartsAreFound) {
  Texts texts(kParts, {"Zanzibar: " + Repeated("the king is alive. ", 6),
                       "porcupine: " + Repeated("the king is dead. ", 6), "porcupine porcupine"});
  texts[0].assign(40, "Zanzibar: " + Repeated("the king is dead. ", 6));
  ExpectTheBugIsFound(texts, OwnByStatisticsOfAll);
}

}  // namespace audited_contexts_test
}  // namespace submix::eval

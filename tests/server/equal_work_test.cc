// The deterministic timing test: whether the members agree with the public model, contradict it,
// are broken or got no text, whether the parts can pay or not, the same work is done for a token.
// Work is counted, not timed: rows of the predictor, ledger transactions, heap allocations, and
// every call of a function of the mechanisms and their solvers.
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/engine/scheduler.h"
#include "submix/engine/testing/watched_engine.h"
#include "submix/ledger/durable_ledger.h"
#include "tests/predictors/allocation_counter.h"
#include "tests/server/entered_functions.h"

namespace submix::engine {
namespace {

constexpr double kConsensus = 0;
constexpr double kContested = 4;
constexpr double kPlenty = 1000;

// What a mechanism may see. The first one is what the others are compared with.
struct Situation {
  const char* name;
  double spread = kConsensus;
  int parts_without_budget = 0;
  int broken_member = -1;
  int public_member = -1;  // it got no text
};
constexpr int kParts = WatchedEngine::kParts;
constexpr Situation kSituations[] = {
    {"consensus"},
    {"contested", kContested},
    {"mildly contested", 0.01},
    {"consensus, all parts exhausted", kConsensus, kParts},
    {"contested, all parts exhausted", kContested, kParts},
    {"contested, one part exhausted", kContested, 1},
    {"contested, one part left", kContested, kParts - 1},
    {"contested, a member broken", kContested, 0, 2},
    {"contested, a member without text", kContested, 0, -1, 2},
};

struct Work {
  std::int64_t rows = 0;
  std::int64_t transactions = 0;
  std::int64_t charged_releases = 0;
  std::int64_t allocations = 0;
  EnteredFunctions functions;
};

std::string Difference(const Work& expected, const Work& found) {
  std::string text;
  const auto compare = [&](const std::string& what, std::int64_t a, std::int64_t b) {
    if (a != b) text += what + ": " + std::to_string(a) + " and " + std::to_string(b) + "\n";
  };
  compare("rows of the predictor", expected.rows, found.rows);
  compare("ledger transactions", expected.transactions, found.transactions);
  compare("charged releases", expected.charged_releases, found.charged_releases);
  compare("allocations", expected.allocations, found.allocations);
  EnteredFunctions all = expected.functions;
  all.insert(found.functions.begin(), found.functions.end());
  const auto entered = [](const EnteredFunctions& functions, const void* function) {
    const auto at = functions.find(function);
    return at == functions.end() ? 0 : at->second;
  };
  for (const auto& [function, count] : all) {
    compare(NameOf(function), entered(expected.functions, function),
            entered(found.functions, function));
  }
  return text;
}

// Spends the whole budget of the first parts.
void Exhaust(WatchedLedger& ledger, int parts) {
  const auto accounts = ledger.Accounts().value();
  std::vector<accounting::FixedNats> charges(accounts.size());
  for (std::size_t part = 0; part < static_cast<std::size_t>(parts); ++part) {
    charges[part] = accounts[part].budget;
  }
  const ledger::ChargeRequest request{{1, 1}, accounting::ChargeRule::kPerPart, charges};
  SUBMIX_ASSERT_OK(ledger.Charge(std::span(&request, 1)).status());
}

Work CountWork(WatchedEngine& engine, std::string_view names, const std::function<void()>& act) {
  Work work;
  const std::int64_t rows = engine.predictor.rows;
  const int transactions = engine.ledger.transactions;
  const int releases = engine.ledger.releases;
  const auto allocations = AllocationsSoFar();
  BeginCountingFunctions();
  act();
  const auto allocations_after = AllocationsSoFar();
  work.functions = EndCountingFunctions();
  std::erase_if(work.functions, [&](const auto& entered) {
    return !names.empty() && !NameOf(entered.first).starts_with(names);
  });
  if (allocations) work.allocations = *allocations_after - *allocations;
  work.rows = engine.predictor.rows - rows;
  work.transactions = engine.ledger.transactions - transactions;
  work.charged_releases = engine.ledger.releases - releases;
  return work;
}

// What is asked: the same in all situations.
struct Asked {
  int prompt_length = 1;
  int top_k = 0;
  std::chrono::milliseconds quantum{0};
};

Request OneToken(int prompt, const Asked& asked) {
  Request request;
  request.prompt.assign(static_cast<std::size_t>(asked.prompt_length), prompt);
  request.max_tokens = 1;
  request.sampling.top_k = asked.top_k;
  return request;
}

struct TestedMechanism {
  const char* name;
  const char* order = "2";
  mechanism::ChargeAccounting accounting = mechanism::ChargeAccounting::kDefault;
  int halves = 1;
  // Of which functions the calls are compared: of all, or of those with such a name.
  std::string_view functions = "";
};
void PrintTo(const TestedMechanism& tested, std::ostream* out) {
  *out << tested.name << ", order " << tested.order;
}

WatchedEngineOptions EngineOptions(const TestedMechanism& tested, const Situation& situation) {
  WatchedEngineOptions options;
  options.mechanism = tested.name;
  options.budget = kPlenty;
  options.target_leakage = 0.5;
  options.spread = situation.spread;
  options.order = divergence::RenyiOrder::Parse(tested.order).value();
  options.accounting = tested.accounting;
  options.halves = tested.halves;
  return options;
}

class EqualWork : public ::testing::TestWithParam<TestedMechanism> {};

void Answer(Scheduler& scheduler, int prompt, const Asked& asked) {
  Submission submission;
  submission.request = OneToken(prompt, asked);
  const auto completion = scheduler.Submit(std::move(submission));
  ASSERT_THAT(completion, base::IsOk());
  while ((*completion)->end() == AnswerEnd::kNotYet) {
    (*completion)->Next(std::chrono::seconds(10));
  }
  ASSERT_EQ((*completion)->end(), AnswerEnd::kMaxTokens);
}

// Of eight answers of one token, so that what is public, the prompts, is equal in all situations.
constexpr int kAnswers = 8;
Work WorkOfAnswers(const TestedMechanism& tested, const Situation& situation, const Asked& asked) {
  WatchedEngine engine(EngineOptions(tested, situation));
  Exhaust(engine.ledger, situation.parts_without_budget);
  if (situation.broken_member >= 0) engine.predictor.fake.BreakMember(situation.broken_member);
  if (situation.public_member >= 0) engine.predictor.fake.MakeMemberPublic(situation.public_member);
  SchedulerOptions options;
  options.quantum = asked.quantum;
  options.max_prompt_tokens = 16;
  const auto scheduler = Scheduler::Start(engine.MakeCore(), options).value();
  Answer(*scheduler, 0, asked);  // what is made once has been made
  return CountWork(engine, tested.functions, [&] {
    for (int prompt = 0; prompt < kAnswers; ++prompt) Answer(*scheduler, prompt, asked);
  });
}

void ExpectEqualWork(const TestedMechanism& tested, const Asked& asked) {
  const Work expected = WorkOfAnswers(tested, kSituations[0], asked);
  EXPECT_EQ(expected.rows, kAnswers * asked.prompt_length * (1 + kParts * tested.halves));
  EXPECT_EQ(expected.charged_releases % kAnswers, 0) << "a piece of a prompt is charged nothing";
  EXPECT_GE(expected.transactions, kAnswers);
  EXPECT_EQ(CountsEnteredFunctions(), !expected.functions.empty());
  for (const Situation& situation : kSituations) {
    const Work found = WorkOfAnswers(tested, situation, asked);
    const std::string difference = Difference(expected, found);
    EXPECT_TRUE(difference.empty())
        << difference << kSituations[0].name << " and " << situation.name << ", top-k "
        << asked.top_k << ", quantum " << asked.quantum.count() << " ms";
  }
}

TEST_P(EqualWork, WhateverTheMembersSayAndWhoeverCanPay) { ExpectEqualWork(GetParam(), {}); }

TEST_P(EqualWork, WithTruncatedSampling) { ExpectEqualWork(GetParam(), {.top_k = 10}); }

// Three pieces, of which the last one predicts.
TEST_P(EqualWork, WithPromptsInPieces) { ExpectEqualWork(GetParam(), {.prompt_length = 40}); }

TEST_P(EqualWork, WithPaddedTokens) {
  ExpectEqualWork(GetParam(), {.quantum = std::chrono::milliseconds(1)});
}

// Charges that are paid, and charges that nobody can pay, in a ledger on disk.
TEST(EqualWrites, OfAFileWhetherPartsCanPay) {
  constexpr std::int64_t kBudget = 1000000;
  const auto bytes_written = [](std::int64_t charge) {
    const base::TemporaryDirectory directory;
    const ledger::DurableLedgerOptions options{
        directory.File("ledger.sqlite"), directory.File("anchor"), {}};
    const auto budget = accounting::FixedNats::FromUnits(kBudget);
    std::vector<ledger::Account> accounts(kParts, {"part", budget, {}});
    EXPECT_THAT(ledger::DurableLedger::Create(options, accounts, "2"), base::IsOk());
    const auto ledger = ledger::DurableLedger::Open(options).value();
    const std::vector<accounting::FixedNats> charges(kParts,
                                                     accounting::FixedNats::FromUnits(charge));
    for (std::uint64_t i = 1; i <= 32; ++i) {
      const ledger::ChargeRequest request{{1, i}, accounting::ChargeRule::kPerPart, charges};
      EXPECT_THAT(ledger->Charge(std::span(&request, 1)).status(), base::IsOk());
    }
    return std::filesystem::file_size(options.location + "-wal");
  };
  EXPECT_EQ(bytes_written(1000), bytes_written(kBudget + 1));
}

// Where not all calls are equal. screened: what is computed of a noisy sum, which was paid for, may
// depend on it. submix, which is research: its stop empties accounts, and the chords between the at
// most twelve weights of its search are a few more or less; its sweeps over the support are equal.
constexpr std::string_view kOfMechanisms = "submix::mechanism::";
constexpr auto kDefault = mechanism::ChargeAccounting::kDefault;
constexpr auto kWorstCase = mechanism::ChargeAccounting::kWorstCase;

INSTANTIATE_TEST_SUITE_P(
    Mechanisms, EqualWork,
    ::testing::Values(TestedMechanism{"filtered-submix"}, TestedMechanism{"filtered-submix", "8"},
                      TestedMechanism{"filtered-submix", "inf"}, TestedMechanism{"filtered-dclip"},
                      TestedMechanism{"filtered-dclip", "8"}, TestedMechanism{"dclip"},
                      TestedMechanism{"dp-decoding"}, TestedMechanism{"gnmax", "2", kWorstCase},
                      TestedMechanism{"pmixed", "2", kWorstCase},
                      TestedMechanism{"sample-and-aggregate"}, TestedMechanism{"public"},
                      TestedMechanism{"screened", "2", kDefault, 1, kOfMechanisms},
                      TestedMechanism{"submix", "2", kDefault, 2, kOfMechanisms},
                      TestedMechanism{"submix", "8", kDefault, 2, kOfMechanisms}));

}  // namespace
}  // namespace submix::engine

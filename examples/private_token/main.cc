// A private token without a language model: two parts, a vocabulary of three words, a budget.
//
//   private_token              the budget is in memory and forgotten at the end
//   private_token DIRECTORY    the budget is on disk: run it again and see what is left
//
// The way of a token is the one of the engine: propose charges, charge durably, mix those who paid,
// sample against the receipt. Leave one out and it does not compile or does not sample.

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/sample.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/baselines/make_mechanism.h"

namespace {

using submix::accounting::FixedNats;
using submix::base::Status;
using submix::base::StatusOr;

constexpr int kNumParts = 2;
constexpr int kTokens = 8;
constexpr std::array<const char*, 3> kVocabulary = {"tea", "coffee", "water"};

// What the models say next. Part 0 (members 0 and 1) has seen people who drink tea, part 1 coffee.
constexpr std::array<double, 3> kPublicPmf = {0.3, 0.3, 0.4};
constexpr std::array<double, 12> kMemberPmfs = {
    0.6, 0.2, 0.2,  // part 0, first half
    0.5, 0.2, 0.3,  // part 0, second half
    0.1, 0.7, 0.2,  // part 1, first half
    0.2, 0.7, 0.1,  // part 1, second half
};

// A ledger belongs to one deployment. Hash whatever defines yours; here it is a name.
submix::ledger::DurableLedgerOptions OnDisk(const std::string& directory) {
  return {.location = directory + "/ledger.sqlite",
          .anchor_path = directory + "/anchor",
          .fingerprint = submix::base::Sha256("private_token example")};
}

StatusOr<std::unique_ptr<submix::ledger::Ledger>> OpenLedger(const std::string& directory,
                                                             FixedNats budget) {
  if (directory.empty()) return submix::ledger::MakeMemoryLedger(kNumParts, budget);
  const submix::ledger::DurableLedgerOptions options = OnDisk(directory);
  if (!std::filesystem::exists(options.location)) {
    std::filesystem::create_directories(directory);
    std::vector<submix::ledger::Account> accounts;
    for (int part = 0; part < kNumParts; ++part) {
      accounts.push_back({.name = "part " + std::to_string(part), .budget = budget, .spent = {}});
    }
    SUBMIX_RETURN_IF_ERROR(submix::ledger::DurableLedger::Create(options, accounts, "2"));
  }
  SUBMIX_ASSIGN_OR_RETURN(auto ledger, submix::ledger::DurableLedger::Open(options));
  return std::unique_ptr<submix::ledger::Ledger>(std::move(ledger));
}

// One token: an index into the vocabulary.
StatusOr<std::size_t> NextToken(const submix::mechanism::Mechanism& mechanism,
                                submix::base::ReleaseId release, submix::ledger::Ledger& ledger,
                                submix::base::RandomSource& random) {
  const submix::mechanism::PartPredictions predictions = {
      .public_pmf = kPublicPmf, .member_pmfs = kMemberPmfs, .num_parts = kNumParts, .halves = 2};
  SUBMIX_ASSIGN_OR_RETURN(const auto remaining, ledger.Remaining());
  SUBMIX_ASSIGN_OR_RETURN(auto proposal, mechanism.Propose(predictions, remaining, release));
  const std::vector<submix::ledger::ChargeRequest> step = {
      {.release_id = release, .rule = mechanism.charge_rule(), .charges = proposal->charges()}};
  SUBMIX_ASSIGN_OR_RETURN(auto receipts, ledger.Charge(step));
  auto mixture = std::move(*proposal).Mix(receipts[0].paid(), random);
  return submix::engine::Sample(std::move(mixture), std::move(receipts[0]), random);
}

Status Run(const std::string& directory) {
  const FixedNats budget = FixedNats::RoundDown(0.5);
  submix::mechanism::MechanismOptions options;
  options.num_parts = kNumParts;
  options.target_leakage = 0.05;  // nats a token: ten tokens and the budget is gone
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, submix::mechanism::MakeMechanism(options));
  std::printf("%s", submix::accounting::PromiseOf(mechanism->Statement(budget)).ToText().c_str());

  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, OpenLedger(directory, budget));
  const auto random = submix::base::MakeSystemRandomSource();
  const std::uint64_t session = random->NextUint64();
  for (std::uint64_t number = 1; number <= kTokens; ++number) {
    SUBMIX_ASSIGN_OR_RETURN(const std::size_t token,
                            NextToken(*mechanism, {session, number}, *ledger, *random));
    std::printf("token: %s\n", kVocabulary[token]);
  }

  // For the operator only: an account's state depends on its part's data.
  SUBMIX_ASSIGN_OR_RETURN(const auto accounts, ledger->Accounts());
  for (const submix::ledger::Account& account : accounts) {
    std::printf("%s: spent %.4f of a budget of %.4f nats\n", account.name.c_str(),
                account.spent.ToNatsRoundedUp(), account.budget.ToNatsRoundedUp());
  }
  return ledger->Verify();
}

}  // namespace

int main(int argc, char** argv) {
  const Status status = Run(argc > 1 ? argv[1] : "");
  if (!status.ok()) {
    std::fprintf(stderr, "private_token: %s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}

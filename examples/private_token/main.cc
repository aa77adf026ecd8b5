// Private tokens from anybody's logits: here of no language model, two parts, a vocabulary of three
// words, a budget.
//
//   private_token              the budget is in memory and forgotten at the end
//   private_token DIRECTORY    the budget is on disk: run it again and see what is left
//
// The engine's own sampler takes the logits of the public model and of all members, charges the
// parts durably and draws from the mixture of those that paid.

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "submix/accounting/promise.h"
#include "submix/base/random.h"
#include "submix/base/status.h"
#include "submix/engine/private_sampler.h"
#include "submix/ledger/durable_ledger.h"
#include "submix/ledger/ledger.h"
#include "submix/ledger/memory_ledger.h"
#include "submix/mechanism/declaring/make_mechanism.h"

namespace {

using submix::accounting::FixedNats;
using submix::base::Status;
using submix::base::StatusOr;

constexpr int kNumParts = 2;
constexpr int kTokens = 8;
constexpr std::array<const char*, 3> kVocabulary = {"tea", "coffee", "water"};

// What the models say next, as probabilities; a model of your own gives logits. Part 0 (members 0
// and 1) has seen people who drink tea, part 1 coffee.
constexpr std::array<float, 3> kPublicPmf = {0.3f, 0.3f, 0.4f};
constexpr std::array<float, 12> kMemberPmfs = {
    0.6f, 0.2f, 0.2f,  // part 0, first half
    0.5f, 0.2f, 0.3f,  // part 0, second half
    0.1f, 0.7f, 0.2f,  // part 1, first half
    0.2f, 0.7f, 0.1f,  // part 1, second half
};
constexpr int kMembers = 4;

template <std::size_t N>
std::array<float, N> Logits(std::array<float, N> pmf) {
  for (float& probability : pmf) probability = std::log(probability);
  return pmf;
}

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

Status Run(const std::string& directory) {
  const FixedNats budget = FixedNats::RoundDown(0.5);
  submix::mechanism::MechanismOptions options;
  options.num_parts = kNumParts;
  options.target_leakage = 0.05;  // nats a token: ten tokens and the budget is gone
  SUBMIX_ASSIGN_OR_RETURN(const auto mechanism, submix::mechanism::MakeMechanism(options));
  std::printf("%s", submix::accounting::PromiseOf(mechanism->Statement(budget)).ToText().c_str());

  SUBMIX_ASSIGN_OR_RETURN(const auto ledger, OpenLedger(directory, budget));
  const auto random = submix::base::MakeSystemRandomSource();
  SUBMIX_ASSIGN_OR_RETURN(
      const auto sampler,
      submix::engine::PrivateSampler::Create(
          {.mechanism = mechanism.get(), .ledger = ledger.get(), .random = random.get()},
          kMembers));
  const auto public_logits = Logits(kPublicPmf);
  const auto member_logits = Logits(kMemberPmfs);
  // One sequence; with several, one step pays for a token of each in one transaction.
  const std::vector<submix::engine::Prediction> step = {
      {.public_logits = public_logits, .member_logits = member_logits, .sampling = {}}};
  for (int number = 0; number < kTokens; ++number) {
    SUBMIX_ASSIGN_OR_RETURN(const auto tokens, sampler->Sample(step));
    std::printf("token: %s\n", kVocabulary[static_cast<std::size_t>(*tokens[0].token)]);
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

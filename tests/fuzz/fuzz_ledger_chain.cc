#include <algorithm>
#include <cstdint>
#include <limits>

#include "submix/base/check.h"
#include "submix/ledger/anchor.h"
#include "submix/ledger/chain_replay.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

// --- Records: for each two bytes of length, the low one first, and a payload.

// Puts the state digest right that ends a payload: no mutation would guess it.
ledger::Record RecordWithDigest(const ledger::ChainReplay& replay, std::string payload) {
  ledger::Record record = ledger::ChainRecord(replay.head(), payload);
  ledger::ChainReplay trial = replay;
  const std::string_view digest_bytes = ledger::AsBytes(ledger::StateDigest({}));
  if (trial.Append(record).ok() || payload.size() < digest_bytes.size()) return record;
  const base::Sha256Digest digest = ledger::StateDigest(trial.state());
  payload.replace(payload.size() - digest.size(), digest.size(), ledger::AsBytes(digest));
  return ledger::ChainRecord(replay.head(), std::move(payload));
}

// A charge adds, and never leads beyond what was there to be spent.
void CheckSpent(const ledger::LedgerState& before, const ledger::LedgerState& after) {
  if (before.accounts.empty()) return;
  SUBMIX_CHECK(after.accounts.size() == before.accounts.size(), "accounts stay");
  for (std::size_t i = 0; i < after.accounts.size(); ++i) {
    const ledger::Account& old = before.accounts[i];
    const ledger::Account& account = after.accounts[i];
    SUBMIX_CHECK(account.budget == old.budget && account.name == old.name, "budgets stay");
    SUBMIX_CHECK(account.spent >= old.spent, "nothing is refunded");
    SUBMIX_CHECK(account.spent <= std::max(account.budget, old.spent), "budgets hold");
  }
}

void FuzzRecords(std::string_view input) {
  ledger::ChainReplay replay;
  while (input.size() >= 2) {
    const auto low = static_cast<unsigned char>(input[0]);
    const auto high = static_cast<unsigned char>(input[1]);
    input.remove_prefix(2);
    const std::size_t length = std::min<std::size_t>(low | high << 8, input.size());
    const ledger::Record record = RecordWithDigest(replay, std::string(input.substr(0, length)));
    input.remove_prefix(length);
    const ledger::LedgerState before = replay.state();
    if (!replay.Append(record).ok()) return;
    SUBMIX_CHECK(replay.head().records == record.number, "a record is counted");
    CheckSpent(before, replay.state());
  }
}

// --- The anchor's file

constexpr std::string_view kAnchorMagic = "submix-anchor";
constexpr std::size_t kAnchorSlotBytes = 512;
constexpr std::size_t kAnchorSignedBytes = 135;

// Puts the checksum of each slot right.
std::string SignedAnchor(std::string_view input) {
  std::string content(input);
  for (std::size_t start = 0; start + kAnchorSlotBytes <= content.size();
       start += kAnchorSlotBytes) {
    const std::string_view text = std::string_view(content).substr(start, kAnchorSignedBytes);
    const std::string checksum = base::ToHex(base::Sha256(text));
    content.replace(start + kAnchorSignedBytes, checksum.size(), checksum);
  }
  return content;
}

void CheckAnchorFile(const std::string& path) {
  const auto position = ledger::ReadAnchor(path);
  if (!position.ok()) return;
  const auto unmoved = ledger::AdvanceAnchor(path, *position);
  SUBMIX_CHECK(unmoved.ok() && unmoved->head.records == position->head.records,
               "what can be read can be opened");
  if (position->head.records == std::numeric_limits<std::int64_t>::max()) return;
  const ledger::AnchorPosition next{position->lineage,
                                    {position->head.records + 1, position->head.hash}};
  SUBMIX_CHECK(ledger::AdvanceAnchor(path, next).ok(), "an anchor can be advanced");
  const auto advanced = ledger::ReadAnchor(path);
  SUBMIX_CHECK(advanced.ok() && advanced->head.records == next.head.records, "and then says so");
}

void FuzzAnchor(std::string_view input) {
  static const FuzzedDirectory directory;
  CheckAnchorFile(directory.Put("anchor", input));
  CheckAnchorFile(directory.Put("anchor", SignedAnchor(input)));
}

}  // namespace

void FuzzLedgerChain(std::string_view input) {
  return input.starts_with(kAnchorMagic) ? FuzzAnchor(input) : FuzzRecords(input);
}

}  // namespace submix::fuzz

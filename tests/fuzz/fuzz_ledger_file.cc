#include <algorithm>
#include <cstdint>

#include "submix/base/check.h"
#include "submix/base/file_system.h"
#include "submix/ledger/durable_ledger.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/fuzzed_directory.h"

namespace submix::fuzz {
namespace {

using accounting::FixedNats;

// A ledger that was charged, and its files.
class SampleLedger {
 public:
  SampleLedger() {
    const std::vector<ledger::Account> parts = {
        {"part 0", FixedNats::FromUnits(1'000), FixedNats()},
        {"part 1", FixedNats::FromUnits(50), FixedNats::FromUnits(7)}};
    SUBMIX_CHECK(ledger::DurableLedger::Create(options_, parts, "2").ok(), "a ledger is made");
    {
      const auto open = ledger::DurableLedger::Open(options_);
      const FixedNats charges[] = {FixedNats::FromUnits(10), FixedNats::FromUnits(20)};
      const ledger::ChargeRequest request{{1, 1}, accounting::ChargeRule::kPerPart, charges};
      for (int step = 0; step < 3; ++step) {
        SUBMIX_CHECK((*open)->Charge(std::span(&request, 1)).ok(), "a ledger is charged");
      }
      accounts_ = (*open)->Accounts().value();
    }
    content_ = directory_.Get(kFile);
    anchor_ = directory_.Get(kAnchor);
  }

  const ledger::DurableLedgerOptions& options() const { return options_; }
  bool AreAccounts(const base::StatusOr<std::vector<ledger::Account>>& found) const {
    return found.ok() && std::ranges::equal(*found, accounts_, {}, &ledger::Account::spent,
                                            &ledger::Account::spent);
  }

  // Three bytes an edit: where, the low byte first, and the byte that is put there.
  void PutEdited(std::string_view edits) const {
    std::string content = content_;
    for (; edits.size() >= 3; edits.remove_prefix(3)) {
      const auto low = static_cast<unsigned char>(edits[0]);
      const auto high = static_cast<unsigned char>(edits[1]);
      content[static_cast<std::size_t>(low | high << 8) % content.size()] = edits[2];
    }
    for (const char* suffix : {"-wal", "-shm", "-journal"}) {
      (void)base::RemoveAll(directory_.File(kFile) + suffix);
    }
    directory_.Put(kFile, content);
    directory_.Put(kAnchor, anchor_);
  }

 private:
  static constexpr std::string_view kFile = "ledger.sqlite";
  static constexpr std::string_view kAnchor = "anchor";

  const FuzzedDirectory directory_;
  const ledger::DurableLedgerOptions options_{directory_.File(kFile), directory_.File(kAnchor),
                                              base::Sha256("deployment")};
  std::string content_;
  std::string anchor_;
  std::vector<ledger::Account> accounts_;
};

}  // namespace

// A damaged ledger is refused, or says what it said; the first byte chooses who opens it.
void FuzzLedgerFile(std::string_view input) {
  static const SampleLedger sample;
  if (input.empty()) return;
  sample.PutEdited(input.substr(1));
  const bool is_charged = input[0] == 'w';
  const auto opened = is_charged ? ledger::DurableLedger::Open(sample.options())
                                 : ledger::DurableLedger::OpenReadOnly(sample.options());
  if (!opened.ok()) return;
  // The older part of the chain is Verify's; the newest state is nobody's to change.
  SUBMIX_CHECK(sample.AreAccounts((*opened)->Accounts()), "what was spent stays spent");
  (void)(*opened)->Verify();
}

}  // namespace submix::fuzz

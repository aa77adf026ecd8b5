// The bytes of ledger records and the hash chain over them. Format: docs/ledger_format.md. Reading
// them back and recomputing what they say is chain_replay.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/digest.h"
#include "submix/ledger/ledger.h"
#include "submix/ledger/step_charging.h"

namespace submix::ledger {

// The layout of payloads and tables. Format 1 had accounts without names, charges without rule and
// outcome, and no state digest.
constexpr int kOldestFormat = 1;
constexpr int kNewestFormat = 2;

// Persistent values: never renumbered.
enum class RecordType : std::uint8_t { kCreate = 1, kCharge = 2, kRebind = 3, kMigrate = 4 };

// A random name for a ledger's whole life, so that a ledger and an anchor of different lives do not
// mix.
using Lineage = std::array<std::uint8_t, 16>;

// Everything a ledger knows besides its history. Each record fixes it by StateDigest.
struct LedgerState {
  Lineage lineage{};
  base::Sha256Digest fingerprint{};
  std::string order_text;
  std::vector<Account> accounts;
};

struct Record {
  std::int64_t number = 0;        // counts from 1
  base::Sha256Digest previous{};  // zeros for the first
  std::string payload;
  base::Sha256Digest hash{};
};

// What is to be done with each record in turn; an error ends it.
using RecordVisitor = std::function<base::Status(const Record&)>;

// SHA-256(previous || number as 8 little-endian bytes || payload).
base::Sha256Digest RecordHash(const base::Sha256Digest& previous, std::int64_t number,
                              std::string_view payload);

// The record that follows `head`.
Record ChainRecord(const Ledger::Head& head, std::string payload);

base::Sha256Digest StateDigest(const LedgerState& state);
// The state digest that ends every payload of the newest format: zeros if it is too short for one.
base::Sha256Digest StateDigestIn(std::string_view payload);

// Payloads of the newest format. `after` is the state once the record holds.
std::string EncodeCreate(const LedgerState& after);
std::string EncodeCharge(std::span<const BookedRequest> requests, const LedgerState& after);
std::string EncodeRebind(const base::Sha256Digest& old_fingerprint, const LedgerState& after);
std::string EncodeMigrate(int old_format, const LedgerState& after);

// Digests as database columns, and back: zeros unless `bytes` has the right size.
std::string_view AsBytes(std::span<const std::uint8_t> bytes);
base::Sha256Digest DigestFromBytes(std::string_view bytes);

}  // namespace submix::ledger

#include "submix/ledger/ledger_records.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>

#include "submix/base/check.h"

namespace submix::ledger {
namespace {

template <std::integral T>
void AppendInt(T value, std::string& bytes) {
  std::array<char, sizeof(T)> little_endian;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    little_endian[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff);
  }
  bytes.append(little_endian.data(), little_endian.size());
}

void AppendText(std::string_view text, std::string& bytes) {
  SUBMIX_CHECK(text.size() <= std::numeric_limits<std::uint16_t>::max(),
               "texts are checked when a ledger is made");
  AppendInt(static_cast<std::uint16_t>(text.size()), bytes);
  bytes += text;
}

std::string BeginPayload(RecordType type) {
  std::string payload;
  AppendInt(static_cast<std::uint8_t>(type), payload);
  AppendInt(static_cast<std::uint8_t>(kNewestFormat), payload);
  return payload;
}

std::string EncodeState(const LedgerState& state) {
  std::string bytes;
  bytes += AsBytes(state.lineage);
  bytes += AsBytes(state.fingerprint);
  AppendText(state.order_text, bytes);
  AppendInt(static_cast<std::uint32_t>(state.accounts.size()), bytes);
  for (const Account& account : state.accounts) {
    AppendText(account.name, bytes);
    AppendInt(account.budget.units(), bytes);
    AppendInt(account.spent.units(), bytes);
  }
  return bytes;
}

void AppendRequest(const BookedRequest& request, std::string& payload) {
  AppendInt(request.release_id.session, payload);
  AppendInt(request.release_id.number, payload);
  AppendInt(static_cast<std::uint8_t>(request.rule), payload);
  for (const BookedPart& part : request.parts) {
    AppendInt(static_cast<std::uint8_t>(part.outcome), payload);
    AppendInt(part.amount.units(), payload);
  }
}

std::string EndPayload(std::string payload, const LedgerState& after) {
  payload += AsBytes(StateDigest(after));
  return payload;
}

}  // namespace

std::string_view AsBytes(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

base::Sha256Digest DigestFromBytes(std::string_view bytes) {
  base::Sha256Digest digest{};
  if (bytes.size() == digest.size()) std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

base::Sha256Digest RecordHash(const base::Sha256Digest& previous, std::int64_t number,
                              std::string_view payload) {
  std::string bytes;
  bytes.reserve(previous.size() + sizeof number + payload.size());
  bytes += AsBytes(previous);
  AppendInt(number, bytes);
  bytes += payload;
  return base::Sha256(bytes);
}

Record ChainRecord(const Ledger::Head& head, std::string payload) {
  Record record;
  record.number = head.records + 1;
  record.previous = head.hash;
  record.hash = RecordHash(record.previous, record.number, payload);
  record.payload = std::move(payload);
  return record;
}

base::Sha256Digest StateDigest(const LedgerState& state) {
  return base::Sha256(EncodeState(state));
}

base::Sha256Digest StateDigestIn(std::string_view payload) {
  constexpr std::size_t kDigestBytes = sizeof(base::Sha256Digest);
  if (payload.size() < kDigestBytes) return {};
  return DigestFromBytes(payload.substr(payload.size() - kDigestBytes));
}

std::string EncodeCreate(const LedgerState& after) {
  return EndPayload(BeginPayload(RecordType::kCreate) + EncodeState(after), after);
}

std::string EncodeCharge(std::span<const BookedRequest> requests, const LedgerState& after) {
  std::string payload = BeginPayload(RecordType::kCharge);
  AppendInt(static_cast<std::uint32_t>(requests.size()), payload);
  const std::size_t request_bytes = 17 + 9 * after.accounts.size();
  payload.reserve(payload.size() + requests.size() * request_bytes + sizeof(base::Sha256Digest));
  for (const BookedRequest& request : requests) AppendRequest(request, payload);
  return EndPayload(std::move(payload), after);
}

std::string EncodeRebind(const base::Sha256Digest& old_fingerprint, const LedgerState& after) {
  std::string payload = BeginPayload(RecordType::kRebind);
  payload += AsBytes(old_fingerprint);
  payload += AsBytes(after.fingerprint);
  return EndPayload(std::move(payload), after);
}

std::string EncodeMigrate(int old_format, const LedgerState& after) {
  std::string payload = BeginPayload(RecordType::kMigrate);
  AppendInt(static_cast<std::uint8_t>(old_format), payload);
  return EndPayload(std::move(payload), after);
}

}  // namespace submix::ledger

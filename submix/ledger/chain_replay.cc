#include "submix/ledger/chain_replay.h"

#include <algorithm>
#include <concepts>
#include <string>

#include "submix/accounting/individual_filter.h"
#include "submix/base/json_object.h"

namespace submix::ledger {
namespace {

using accounting::ChargeRule;
using accounting::FixedNats;

base::Status Broken(std::string what) { return base::DataLossError(std::move(what)); }

}  // namespace

// A cursor over a payload. A read past the end gives zeros and is remembered: ask fits() at the
// end of what was read.
class ChainReplay::PayloadReader {
 public:
  explicit PayloadReader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  T Int() {
    const std::string_view bytes = Bytes(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
    }
    return static_cast<T>(value);
  }

  std::string_view Bytes(std::size_t count) {
    if (count > rest_.size()) {
      fits_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }

  std::string Text() { return std::string(Bytes(Int<std::uint16_t>())); }
  base::Sha256Digest Digest() { return DigestFromBytes(Bytes(sizeof(base::Sha256Digest))); }

  // Privacy amounts: payable or refused.
  base::StatusOr<FixedNats> Amount() {
    const auto units = Int<std::int64_t>();
    if (units < 0) return Broken("a negative amount");
    const FixedNats amount = FixedNats::FromUnits(units);
    if (!amount.is_payable()) return Broken("an amount that no budget can hold");
    return amount;
  }

  bool fits() const { return fits_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool fits_ = true;
};

base::Status ChainReplay::Append(const Record& record) {
  base::Status status = CheckLink(record);
  if (status.ok()) status = ApplyPayload(record.payload);
  if (!status.ok()) {
    return Broken("record " + std::to_string(head_.records + 1) + ": " + status.message());
  }
  head_ = {record.number, record.hash};
  return base::OkStatus();
}

base::Status ChainReplay::CheckLink(const Record& record) const {
  if (record.number != head_.records + 1) {
    return Broken("is missing, found record " + std::to_string(record.number));
  }
  if (record.previous != head_.hash) return Broken("does not continue the record before it");
  if (record.hash != RecordHash(record.previous, record.number, record.payload)) {
    return Broken("its hash does not match its bytes");
  }
  return base::OkStatus();
}

base::Status ChainReplay::ApplyPayload(std::string_view payload) {
  PayloadReader reader(payload);
  const auto type = static_cast<RecordType>(reader.Int<std::uint8_t>());
  const int format = reader.Int<std::uint8_t>();
  const bool starts = type == RecordType::kCreate;
  if (starts != (head_.records == 0)) return Broken("a chain starts with its one creation record");
  if (starts) {
    if (format < kOldestFormat || format > kNewestFormat) return Broken("an unknown format");
    format_ = format;
  } else if (type != RecordType::kMigrate && format != format_) {
    return Broken("a change of format without a migration record");
  }
  switch (type) {
    case RecordType::kCreate:
      SUBMIX_RETURN_IF_ERROR(ApplyCreate(reader));
      break;
    case RecordType::kCharge:
      SUBMIX_RETURN_IF_ERROR(ApplyCharge(reader));
      break;
    case RecordType::kRebind:
      SUBMIX_RETURN_IF_ERROR(ApplyRebind(reader));
      break;
    case RecordType::kMigrate:
      SUBMIX_RETURN_IF_ERROR(ApplyMigrate(reader));
      break;
    default:
      return Broken("an unknown type");
  }
  return CheckEnd(reader);
}

base::Status ChainReplay::ApplyCreate(PayloadReader& reader) {
  const std::string_view lineage = reader.Bytes(state_.lineage.size());
  std::copy(lineage.begin(), lineage.end(), state_.lineage.begin());
  state_.fingerprint = reader.Digest();
  state_.order_text = reader.Text();
  const auto num_parts = reader.Int<std::uint32_t>();
  for (std::uint32_t part = 0; part < num_parts && reader.fits(); ++part) {
    Account account;
    account.name = format_ == 1 ? "part " + std::to_string(part) : reader.Text();
    SUBMIX_ASSIGN_OR_RETURN(account.budget, reader.Amount());
    SUBMIX_ASSIGN_OR_RETURN(account.spent, reader.Amount());
    state_.accounts.push_back(std::move(account));
  }
  return base::OkStatus();
}

base::Status ChainReplay::ApplyCharge(PayloadReader& reader) {
  const auto num_requests = reader.Int<std::uint32_t>();
  for (std::uint32_t request = 0; request < num_requests && reader.fits(); ++request) {
    SUBMIX_RETURN_IF_ERROR(ApplyRequest(reader));
  }
  return base::OkStatus();
}

base::Status ChainReplay::ApplyRequest(PayloadReader& reader) {
  reader.Bytes(sizeof(base::ReleaseId));
  ChargeRule rule = ChargeRule::kPerPart;
  if (format_ >= 2) rule = static_cast<ChargeRule>(reader.Int<std::uint8_t>());
  if (rule != ChargeRule::kPerPart && rule != ChargeRule::kAllOrStop) {
    return Broken("an unknown charge rule");
  }
  for (Account& account : state_.accounts) {
    auto outcome = Outcome::kPaid;
    if (format_ >= 2) outcome = static_cast<Outcome>(reader.Int<std::uint8_t>());
    SUBMIX_ASSIGN_OR_RETURN(const FixedNats amount, reader.Amount());
    const FixedNats left = accounting::IndividualFilter(account.budget, account.spent).remaining();
    const bool is_possible =
        (outcome == Outcome::kPaid && amount <= left) ||
        (outcome == Outcome::kSatOut && amount == FixedNats()) ||
        (outcome == Outcome::kEmptied && amount == left && rule == ChargeRule::kAllOrStop);
    if (!is_possible) {
      return Broken("a charge that account " + base::Quoted(account.name) + " cannot have paid");
    }
    account.spent = account.spent + amount;
  }
  return base::OkStatus();
}

base::Status ChainReplay::ApplyRebind(PayloadReader& reader) {
  if (reader.Digest() != state_.fingerprint) return Broken("rebinds another fingerprint");
  state_.fingerprint = reader.Digest();
  return base::OkStatus();
}

base::Status ChainReplay::ApplyMigrate(PayloadReader& reader) {
  if (reader.Int<std::uint8_t>() != format_ || format_ >= kNewestFormat) {
    return Broken("migrates from another format");
  }
  format_ = kNewestFormat;
  return base::OkStatus();
}

base::Status ChainReplay::CheckEnd(PayloadReader& reader) const {
  const bool has_digest = format_ >= 2;
  const base::Sha256Digest digest = has_digest ? reader.Digest() : base::Sha256Digest{};
  if (!reader.fits() || !reader.at_end()) return Broken("its payload has the wrong length");
  if (has_digest && digest != StateDigest(state_)) {
    return Broken("its state digest does not match the sums of the records");
  }
  return base::OkStatus();
}

}  // namespace submix::ledger

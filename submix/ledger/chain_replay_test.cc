#include "submix/ledger/chain_replay.h"

#include <gtest/gtest.h>

#include "submix/base/testing/seeded_random.h"
#include "submix/ledger/testing/ledger_fixture.h"

namespace submix::ledger {
namespace chain_replay_test {

using accounting::ChargeRule;
using accounting::FixedNats;
using base::StatusCode;
using base::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

// A chain of each record type, as a ledger writes it.
class ChainReplayTest : public ::testing::Test {
 protected:
  ChainReplayTest() {
    state_.lineage = {9, 8, 7};
    state_.fingerprint = base::Sha256("first");
    state_.order_text = "2";
    state_.accounts = {{"part 0", FixedNats::FromUnits(100), FixedNats::FromUnits(5)},
                       {"part 1", FixedNats::FromUnits(50), FixedNats()}};
    Append(EncodeCreate(state_));
    Charge({10, 20}, ChargeRule::kPerPart);
    Charge({10, 31}, ChargeRule::kPerPart);
    const base::Sha256Digest old = state_.fingerprint;
    state_.fingerprint = base::Sha256("second");
    Append(EncodeRebind(old, state_));
    Charge({10, 31}, ChargeRule::kAllOrStop);
  }

  void Append(std::string payload) {
    records_.push_back(ChainRecord(head_, std::move(payload)));
    head_ = {records_.back().number, records_.back().hash};
  }

  void Charge(const Units& units, ChargeRule rule) {
    const auto charges = Amounts(units);
    const ChargeRequest request{{3, head_.records + 0ULL}, rule, charges};
    SUBMIX_ASSERT_OK_AND_ASSIGN(const auto booked,
                                BookStep(std::span(&request, 1), state_.accounts));
    Append(EncodeCharge(booked, state_));
  }

  static base::Status Replay(const std::vector<Record>& records, ChainReplay& replay) {
    for (const Record& record : records) SUBMIX_RETURN_IF_ERROR(replay.Append(record));
    return base::OkStatus();
  }

  // The records with one payload changed, and the chain made to fit again: what a forger would do.
  std::vector<Record> Forged(std::size_t index, const std::string& payload) const {
    std::vector<Record> records;
    Ledger::Head head;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      records.push_back(ChainRecord(head, i == index ? payload : records_[i].payload));
      head = {records.back().number, records.back().hash};
    }
    return records;
  }

  LedgerState state_;
  std::vector<Record> records_;
  Ledger::Head head_;
};

TEST_F(ChainReplayTest, RecomputesEverythingFromTheRecords) {
  ChainReplay replay;
  SUBMIX_ASSERT_OK(Replay(records_, replay));
  EXPECT_EQ(StateDigest(replay.state()), StateDigest(state_));
  EXPECT_EQ(replay.state().accounts[0].spent.units(), 25);
  EXPECT_EQ(replay.state().accounts[1].spent.units(), 50) << "emptied by the stop";
  EXPECT_EQ(replay.head().records, 5);
  EXPECT_EQ(replay.head().hash, head_.hash);
  EXPECT_EQ(replay.format(), kNewestFormat);
}

TEST_F(ChainReplayTest, NamesARecordThatIsMissingOrOutOfPlace) {
  ChainReplay without_start;
  EXPECT_THAT(without_start.Append(records_[1]),
              StatusIs(StatusCode::kDataLoss, HasSubstr("record 1")));
  ChainReplay with_gap;
  SUBMIX_ASSERT_OK(with_gap.Append(records_[0]));
  EXPECT_THAT(with_gap.Append(records_[2]), StatusIs(StatusCode::kDataLoss, HasSubstr("record 2")));
  Record renumbered = records_[2];
  renumbered.number = 2;
  EXPECT_THAT(with_gap.Append(renumbered), StatusIs(StatusCode::kDataLoss, HasSubstr("record 2")));
}

TEST_F(ChainReplayTest, NoticesEveryFlippedBit) {
  for (std::size_t index = 0; index < records_.size(); ++index) {
    for (std::size_t bit = 0; bit < 8 * records_[index].payload.size(); ++bit) {
      std::vector<Record> damaged = records_;
      char& byte = damaged[index].payload[bit / 8];
      byte = static_cast<char>(byte ^ 1 << bit % 8);
      ChainReplay replay;
      EXPECT_THAT(Replay(damaged, replay),
                  StatusIs(StatusCode::kDataLoss,
                           HasSubstr("record " + std::to_string(index + 1) + ": its hash")));
    }
  }
}

TEST_F(ChainReplayTest, AForgedChainCannotShrinkWhatIsSpentUnnoticed) {
  // Whoever recomputes all hashes still meets the state digests and the rules of the accounts.
  for (std::size_t index = 0; index < records_.size(); ++index) {
    const std::string& payload = records_[index].payload;
    for (std::size_t at = 0; at < payload.size(); ++at) {
      std::string forged = payload;
      forged[at] = static_cast<char>(forged[at] ^ 0x55);
      ChainReplay replay;
      const base::Status status = Replay(Forged(index, forged), replay);
      if (status.ok()) {
        EXPECT_EQ(StateDigest(replay.state()), StateDigest(state_));
      } else {
        EXPECT_EQ(status.code(), StatusCode::kDataLoss);
      }
    }
    for (std::size_t length = 0; length < payload.size(); ++length) {
      ChainReplay replay;
      EXPECT_THAT(Replay(Forged(index, payload.substr(0, length)), replay),
                  StatusIs(StatusCode::kDataLoss, _));
    }
    ChainReplay longer;
    EXPECT_THAT(Replay(Forged(index, payload + "x"), longer), StatusIs(StatusCode::kDataLoss, _));
  }
}

TEST_F(ChainReplayTest, RefusesAnAccountThatPaidMoreThanItHadLeft) {
  // Everything else is right: hashes, state digest, sums.
  const auto paid = [&](std::size_t part, FixedNats amount) {
    LedgerState after = state_;
    after.accounts[part].spent = after.accounts[part].spent + amount;
    BookedRequest request{{3, 99}, ChargeRule::kPerPart, std::vector<BookedPart>(2)};
    request.parts[part] = {Outcome::kPaid, amount};
    const Record record = ChainRecord(head_, EncodeCharge(std::span(&request, 1), after));
    ChainReplay replay;
    SUBMIX_EXPECT_OK(Replay(records_, replay));
    return replay.Append(record);
  };
  SUBMIX_EXPECT_OK(paid(0, FixedNats::FromUnits(75)));
  for (const auto& [part, units] : {std::pair(0, 76), {0, 1000}, {1, 1}}) {
    EXPECT_THAT(paid(part, FixedNats::FromUnits(units)),
                StatusIs(StatusCode::kDataLoss, HasSubstr("cannot have paid")))
        << part << ", " << units;
  }
}

TEST_F(ChainReplayTest, RefusesARecordThatContinuesAnotherChain) {
  // Of the right number, and hashed over the predecessor that it names.
  for (const base::Sha256Digest& previous : {base::Sha256Digest{}, base::Sha256("another chain")}) {
    Record record = records_[1];
    record.previous = previous;
    record.hash = RecordHash(previous, record.number, record.payload);
    ChainReplay replay;
    SUBMIX_ASSERT_OK(replay.Append(records_[0]));
    EXPECT_THAT(replay.Append(record),
                StatusIs(StatusCode::kDataLoss, HasSubstr("record 2: does not continue")));
  }
}

TEST_F(ChainReplayTest, NamesOfAccountsAreShownPrintable) {
  state_.accounts[0].name = "\x1b[2J\xd2";
  const Record create = ChainRecord({}, EncodeCreate(state_));
  ChainReplay replay;
  SUBMIX_ASSERT_OK(replay.Append(create));
  BookedRequest request{{3, 99}, ChargeRule::kPerPart, std::vector<BookedPart>(2)};
  request.parts[0] = {Outcome::kPaid, FixedNats::FromUnits(76)};
  const std::string payload = EncodeCharge(std::span(&request, 1), state_);
  EXPECT_THAT(replay.Append(ChainRecord({1, create.hash}, payload)),
              StatusIs(StatusCode::kDataLoss, HasSubstr("account \"?[2J?\" cannot")));
}

TEST_F(ChainReplayTest, RefusesACountThatLies) {
  // The counts of requests and accounts, set to the largest: no memory is taken for them.
  std::string charge = records_[1].payload;
  charge.replace(2, 4, "\xff\xff\xff\xff");
  ChainReplay replay;
  EXPECT_THAT(Replay(Forged(1, charge), replay), StatusIs(StatusCode::kDataLoss, _));
  std::string create = records_[0].payload;
  create.replace(2 + 16 + 32 + 2 + 1, 4, "\xff\xff\xff\xff");
  ChainReplay other;
  EXPECT_THAT(Replay(Forged(0, create), other), StatusIs(StatusCode::kDataLoss, _));
}

TEST_F(ChainReplayTest, RefusesNoise) {
  const auto random = base::MakeSeededRandomSource(20240607);
  for (int round = 0; round < 2000; ++round) {
    std::string payload(random->NextBelow(200), '\0');
    random->Fill(std::as_writable_bytes(std::span(payload)));
    if (payload.size() >= 2 && round % 2 == 0) {
      payload[0] = static_cast<char>(random->NextBelow(6));
      payload[1] = static_cast<char>(random->NextBelow(4));
    }
    ChainReplay replay;
    const std::size_t index = random->NextBelow(records_.size());
    EXPECT_THAT(Replay(Forged(index, payload), replay), StatusIs(StatusCode::kDataLoss, _));
  }
}

TEST_F(ChainReplayTest, RefusesASecondCreation) {
  Append(EncodeCreate(state_));
  ChainReplay replay;
  EXPECT_THAT(Replay(records_, replay), StatusIs(StatusCode::kDataLoss, HasSubstr("creation")));
}

}  // namespace chain_replay_test
}  // namespace submix::ledger

#include "submix/ledger/anchor.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "submix/base/file_system.h"
#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::ledger {
namespace anchor_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::_;

constexpr std::size_t kAnchorBytes = 1024;

class AnchorTest : public ::testing::Test {
 protected:
  static Ledger::Head HeadAt(std::int64_t records) {
    return {records, base::Sha256(std::to_string(records))};
  }

  // Creates an anchor and advances it to `records`.
  void AdvanceTo(std::int64_t records) {
    SUBMIX_ASSERT_OK(CreateAnchor(path_, {lineage_, HeadAt(1)}));
    for (std::int64_t i = 2; i <= records; ++i) {
      SUBMIX_ASSERT_OK(AdvanceAnchor(path_, {lineage_, HeadAt(i)}));
    }
  }

  std::string Content() {
    auto content = base::ReadFile(path_);
    EXPECT_THAT(content, base::IsOk());
    return content.value();
  }

  void Overwrite(const std::string& content) {
    std::filesystem::remove(path_);  // a truncated file would be flushed to disk, which takes long
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }

  base::TemporaryDirectory directory_;
  const std::string path_ = directory_.File("anchor");
  const Lineage lineage_{1, 2, 3, 250};
};

TEST_F(AnchorTest, ReadsBackItsNewestPosition) {
  for (std::int64_t records = 1; records <= 5; ++records) {
    std::filesystem::remove(path_);
    AdvanceTo(records);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
    EXPECT_EQ(position.lineage, lineage_);
    EXPECT_EQ(position.head.records, records);
    EXPECT_EQ(position.head.hash, HeadAt(records).hash);
    EXPECT_EQ(Content().size(), kAnchorBytes);
  }
}

TEST_F(AnchorTest, SeveralProcessesAdvanceItAndNoneMovesItBack) {
  AdvanceTo(2);
  SUBMIX_ASSERT_OK(AdvanceAnchor(path_, {lineage_, HeadAt(3)}));
  SUBMIX_ASSERT_OK(AdvanceAnchor(path_, {lineage_, HeadAt(6)}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition found,
                              AdvanceAnchor(path_, {lineage_, HeadAt(5)}));
  EXPECT_EQ(found.head.records, 6);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
  EXPECT_EQ(position.head.records, 6);
  EXPECT_EQ(position.head.hash, HeadAt(6).hash);
}

TEST_F(AnchorTest, WhatMayNotBeDurableIsWrittenAgain) {
  AdvanceTo(3);
  for (const std::int64_t records : {3, 2}) {
    const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
    std::filesystem::last_write_time(path_, long_ago);
    const std::string before = Content();
    SUBMIX_ASSERT_OK(AdvanceAnchor(path_, {lineage_, HeadAt(records)}));
    EXPECT_GT(std::filesystem::last_write_time(path_), long_ago + std::chrono::minutes(30));
    EXPECT_EQ(Content(), before);
  }
}

TEST_F(AnchorTest, AnotherRecordOfTheSameNumberIsAnotherBranch) {
  AdvanceTo(3);
  EXPECT_THAT(AdvanceAnchor(path_, {lineage_, {3, base::Sha256("another")}}),
              StatusIs(StatusCode::kDataLoss, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
  EXPECT_EQ(position.head.hash, HeadAt(3).hash);
}

TEST_F(AnchorTest, IsNotAdvancedInTheFileOfAnotherLedger) {
  AdvanceTo(2);
  std::filesystem::remove(path_);
  EXPECT_THAT(AdvanceAnchor(path_, {lineage_, HeadAt(3)}),
              StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_ASSERT_OK(CreateAnchor(path_, {Lineage{7}, HeadAt(1)}));
  EXPECT_THAT(AdvanceAnchor(path_, {lineage_, HeadAt(3)}),
              StatusIs(StatusCode::kFailedPrecondition, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
  EXPECT_EQ(position.head.records, 1);
}

TEST_F(AnchorTest, HoldsTheLargestNumber) {
  SUBMIX_ASSERT_OK(
      CreateAnchor(path_, {lineage_, HeadAt(std::numeric_limits<std::int64_t>::max())}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
  EXPECT_EQ(position.head.records, std::numeric_limits<std::int64_t>::max());
}

TEST_F(AnchorTest, AWriteTornAnywhereLeavesTheOldPositionOrTheNew) {
  AdvanceTo(6);
  const std::string before = Content();
  SUBMIX_ASSERT_OK(AdvanceAnchor(path_, {lineage_, HeadAt(7)}));
  const std::string after = Content();
  for (std::size_t cut = 0; cut <= kAnchorBytes; ++cut) {
    Overwrite(after.substr(0, cut) + before.substr(cut));
    const auto position = ReadAnchor(path_);
    SUBMIX_ASSERT_OK(position);
    const std::int64_t records = position->head.records;
    EXPECT_TRUE(records == 6 || records == 7) << records;
    EXPECT_EQ(position->head.hash, HeadAt(records).hash);
  }
}

TEST_F(AnchorTest, AFlippedByteIsNeverBelieved) {
  AdvanceTo(7);
  const std::string whole = Content();
  for (std::size_t at = 0; at < kAnchorBytes; ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    Overwrite(damaged);
    SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
    const std::int64_t records = position.head.records;
    EXPECT_TRUE(records == 6 || records == 7) << records;
    EXPECT_EQ(position.head.hash, HeadAt(records).hash);
    EXPECT_EQ(position.lineage, lineage_);
  }
}

TEST_F(AnchorTest, RefusesAFileWithoutAWholeSlot) {
  for (const std::string& content : {std::string(), std::string("submix-anchor 1 "),
                                     std::string(kAnchorBytes, '0'), std::string(5000, ' ')}) {
    Overwrite(content);
    EXPECT_THAT(ReadAnchor(path_), StatusIs(StatusCode::kDataLoss, _));
    EXPECT_THAT(AdvanceAnchor(path_, {lineage_, HeadAt(3)}), StatusIs(StatusCode::kDataLoss, _));
    EXPECT_EQ(Content(), content);
  }
}

TEST_F(AnchorTest, IsMissingOrThereAlready) {
  EXPECT_THAT(ReadAnchor(path_), StatusIs(StatusCode::kNotFound, _));
  AdvanceTo(2);
  EXPECT_THAT(CreateAnchor(path_, {lineage_, HeadAt(1)}), StatusIs(StatusCode::kAlreadyExists, _));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const AnchorPosition position, ReadAnchor(path_));
  EXPECT_EQ(position.head.records, 2);
}

}  // namespace anchor_test
}  // namespace submix::ledger

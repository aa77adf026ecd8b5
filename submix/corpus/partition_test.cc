#include "submix/corpus/partition.h"

#include <fstream>
#include <set>
#include <tuple>
#include <vector>

#include <sys/stat.h>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace partition_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Fixed, so that the statistical tests below always see the same placements.
base::HashKey FixedKey() {
  base::HashKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(7 * i + 1);
  return key;
}

std::vector<std::string> Users(int num_users) {
  std::vector<std::string> users;
  for (int i = 0; i < num_users; ++i) users.push_back("u" + std::to_string(i));
  return users;
}

double ChiSquared(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Values computed with Python's hmac: an ensemble outlives releases, so these must never change.
TEST(PartitionTest, NeverChangesFromReleaseToRelease) {
  const PartitionOptions options{16, 2, 0.1};
  const Placement alice = PlaceUser(FixedKey(), "alice", options);
  const Placement bob = PlaceUser(FixedKey(), "bob", options);
  EXPECT_EQ(std::tuple(alice.is_heldout, alice.part.index, alice.half), std::tuple(false, 3, 1));
  EXPECT_EQ(std::tuple(bob.is_heldout, bob.part.index, bob.half), std::tuple(false, 12, 0));
}

// The ranks computed with Python's hmac, as above.
TEST(PartitionTest, DealsOneUserToEachPartByRank) {
  const std::set<std::string> users = {"alice", "bob", "carol", "dave", "erin", "frank"};
  const auto dealt = [&](const PartitionOptions& options) {
    return DealUsers(FixedKey(), users, options);
  };
  EXPECT_THAT(dealt({3, 1, 0}), ElementsAre("bob", "alice", "frank"));
  EXPECT_THAT(dealt({3, 1, 0.3}), ElementsAre("alice", "frank", "dave")) << "bob is held out";
  EXPECT_THAT(dealt({9, 2, 0}), ElementsAre("bob", "alice", "frank", "dave", "erin", "carol"));
  EXPECT_THAT(DealUsers(FixedKey(), {}, {3, 1, 0}), ElementsAre());
}

TEST(PartitionTest, SpreadsUsersEvenlyOverPartsAndHalves) {
  constexpr int kNumUsers = 32000;
  const PartitionOptions options{16, 2, 0};
  std::vector<int> members(32);
  for (const std::string& user : Users(kNumUsers)) {
    const Placement placement = PlaceUser(FixedKey(), user, options);
    EXPECT_FALSE(placement.is_heldout);
    ++members[static_cast<std::size_t>(placement.part.index * 2 + placement.half)];
  }
  // 31 degrees of freedom: above 61.1 once in a thousand keys.
  EXPECT_LT(ChiSquared(members, kNumUsers / 32.0), 61.1);
}

TEST(PartitionTest, HoldsOutTheAskedFractionIndependentlyOfTheParts) {
  constexpr int kNumUsers = 40000;
  const PartitionOptions options{8, 1, 0.25};
  std::vector<int> heldout(8);
  std::vector<int> kept(8);
  for (const std::string& user : Users(kNumUsers)) {
    const Placement placement = PlaceUser(FixedKey(), user, options);
    EXPECT_EQ(placement.half, 0);
    ++(placement.is_heldout ? heldout : kept)[static_cast<std::size_t>(placement.part.index)];
  }
  // 16 cells with known expectations, 15 degrees of freedom: above 37.7 once in a thousand keys.
  EXPECT_LT(ChiSquared(heldout, kNumUsers * 0.25 / 8) + ChiSquared(kept, kNumUsers * 0.75 / 8),
            37.7);
}

TEST(PartitionTest, GrowingTheHeldoutFractionOnlyAddsHeldoutUsersAndMovesNone) {
  for (const std::string& user : Users(2000)) {
    const Placement none = PlaceUser(FixedKey(), user, {8, 2, 0});
    const Placement few = PlaceUser(FixedKey(), user, {8, 2, 0.1});
    const Placement many = PlaceUser(FixedKey(), user, {8, 2, 0.5});
    EXPECT_FALSE(none.is_heldout);
    EXPECT_LE(few.is_heldout, many.is_heldout);
    EXPECT_EQ(none.part, many.part);
    EXPECT_EQ(none.half, many.half);
  }
}

TEST(PartitionTest, AnotherKeyGivesAnotherPartition) {
  base::HashKey other = FixedKey();
  other[31] ^= 1;
  int num_same = 0;
  for (const std::string& user : Users(1600)) {
    const PartitionOptions options{16, 1, 0};
    if (PlaceUser(FixedKey(), user, options).part == PlaceUser(other, user, options).part) {
      ++num_same;
    }
  }
  EXPECT_NEAR(num_same, 100, 40);  // four standard deviations
}

TEST(PartitionTest, TakesAnyBytesAsUserKey) {
  const PartitionOptions options{1 << 30, 1, 0};
  std::set<int> parts;
  for (const std::string& user : {std::string("a"), std::string("a\0", 2), std::string("\xff"),
                                  std::string(), std::string(1 << 20, 'a')}) {
    parts.insert(PlaceUser(FixedKey(), user, options).part.index);
  }
  EXPECT_EQ(parts.size(), 5u);
}

TEST(PartitionTest, DrawsFreshKeys) { EXPECT_NE(NewPartitionKey(), NewPartitionKey()); }

TEST(PartitionTest, KeyIdShowsSixteenDigitsAndNothingOfTheKey) {
  const std::string id = PartitionKeyId(FixedKey());
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(id, PartitionKeyId(FixedKey()));
  EXPECT_NE(id, base::ToHex(FixedKey()).substr(0, 16));
  EXPECT_NE(id, PartitionKeyId(base::HashKey{}));
}

TEST(PartitionTest, SavesAndLoadsAKeyThatOnlyItsOwnerCanRead) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.File("partition.key");
  const base::HashKey key = NewPartitionKey();
  SUBMIX_ASSERT_OK(SavePartitionKey(key, path));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const base::HashKey loaded, LoadPartitionKey(path));
  EXPECT_EQ(loaded, key);
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_EQ(info.st_size, 32);
}

TEST(PartitionTest, ReportsMissingAndDamagedKeys) {
  const base::TemporaryDirectory directory;
  const std::string path = directory.File("partition.key");
  EXPECT_THAT(LoadPartitionKey(path), StatusIs(StatusCode::kNotFound, HasSubstr(path)));
  for (const std::size_t size : {0u, 31u, 33u}) {
    std::ofstream(path) << std::string(size, 'k');
    EXPECT_THAT(LoadPartitionKey(path),
                StatusIs(StatusCode::kDataLoss,
                         AllOf(HasSubstr(path), HasSubstr(std::to_string(size) + " bytes"))));
  }
}

}  // namespace partition_test
}  // namespace submix::corpus

#include "submix/contexts/record_search.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace submix::contexts {
namespace record_search_test {

using base::TokenId;
using Records = std::vector<std::vector<TokenId>>;

// Twelve records; eight are one other token.
Records Example() {
  Records records = {{1, 2, 3, 4, 5}, {2, 2, 6}, {7, 8, 9, 1, 2, 3, 10, 11}, {12}};
  records.resize(12, {13});
  return records;
}

// What SQLite 3.40's full-text search (FTS5) says of the same records, with its own idf,
// log((N - n + 0.5) / (n + 0.5)), taken out; and the definition's put in.
double Expected(double fts5_by_its_idf, int holders) {
  return fts5_by_its_idf * std::log((12 + 1) / (holders + 0.5));
}

TEST(RecordSearchTest, ScoresAreBm25) {
  const Records records = Example();
  const RecordSearch search(records);
  const TokenId two[] = {2}, several[] = {2, 6, 6, 99};
  const std::vector<double> scores = search.Scores(two);
  EXPECT_NEAR(scores[0], Expected(0.6358381502890175, 3), 1e-12);
  EXPECT_NEAR(scores[1], Expected(1.2235817575083427, 3), 1e-12);
  EXPECT_NEAR(scores[2], Expected(0.46257359125315395, 3), 1e-12);
  EXPECT_EQ(scores[3], 0);
  EXPECT_NEAR(search.Scores(several)[1],
              Expected(1.2235817575083427, 3) + Expected(0.8474576271186441, 1), 1e-12);
}

TEST(RecordSearchTest, TheBestComeFirstAndEqualOnesAsTheyStand) {
  const Records records = Example();
  const RecordSearch search(records);
  const TokenId two[] = {2};
  EXPECT_EQ(search.Ranked(two), (std::vector<int>{1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const std::vector<int> unmoved = search.Ranked({});
  EXPECT_TRUE(std::ranges::is_sorted(unmoved));
  EXPECT_EQ(unmoved.size(), records.size());
  EXPECT_TRUE(RecordSearch({}).Ranked(two).empty());
}

// A token that all records hold still tells who holds it more often: no score is negative.
TEST(RecordSearchTest, CommonTokensDoNotCountAgainstARecord) {
  const Records records = {{1, 2, 3}, {1, 1, 3}};
  const TokenId one[] = {1};
  const std::vector<double> scores = RecordSearch(records).Scores(one);
  EXPECT_GT(scores[0], 0);
  EXPECT_GT(scores[1], scores[0]);
}

}  // namespace record_search_test
}  // namespace submix::contexts

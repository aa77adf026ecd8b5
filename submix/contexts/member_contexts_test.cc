#include "submix/contexts/member_contexts.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace submix::contexts {
namespace member_contexts_test {

using ensemble::Retrieval;

constexpr base::TokenId kEnd = 0;
constexpr base::TokenId kStart = 99;

MemberContexts Make(std::vector<std::vector<Tokens>> records, Retrieval retrieval,
                    const Tokens& prefix = {}) {
  RecordFrame frame = {kEnd, {}, prefix, {kEnd}};
  if (prefix.empty()) frame.first = {kEnd};
  return MemberContexts({16, retrieval}, std::move(frame), std::move(records));
}

TEST(MemberContextsTest, RecordsStandBetweenBoundaries) {
  const std::vector<std::vector<Tokens>> records = {{{1, 2}, {3}}};
  EXPECT_EQ(Make(records, Retrieval::kNone).Of(0, {}), (Tokens{kEnd, 3, kEnd, 1, 2, kEnd}));
  EXPECT_EQ(Make(records, Retrieval::kNone, {kStart}).Of(0, {}),
            (Tokens{kStart, 3, kEnd, kStart, 1, 2, kEnd}));
}

TEST(MemberContextsTest, ATemplateStandsAroundEveryRecordOfOneText) {
  const RecordFrame frame = {kEnd, {kStart}, {50, 51}, {52}};
  const MemberContexts contexts({16, Retrieval::kNone}, frame,
                                {{{1, 2}, {3}}, {}, {{1, 2}, Tokens(30, 4)}});
  EXPECT_EQ(contexts.Of(0, {}), (Tokens{kStart, 50, 51, 3, 52, 50, 51, 1, 2, 52}));
  EXPECT_TRUE(contexts.Of(1, {}).empty());
  // What is too long is cut within its template.
  EXPECT_EQ(contexts.Of(2, {}),
            (Tokens{kStart, 50, 51, 4, 4, 4, 4, 4, 4, 4, 52, 50, 51, 1, 2, 52}));
}

TEST(MemberContextsTest, NoContextIsLongerThanIsPublic) {
  for (const Tokens& prefix : {Tokens{}, Tokens{kStart}}) {
    for (std::size_t length = 1; length < 40; ++length) {
      for (std::size_t other = 1; other < 20; ++other) {
        const auto contexts =
            Make({{Tokens(length, 1), Tokens(other, 2)}}, Retrieval::kNone, prefix);
        const Tokens context = contexts.Of(0, {});
        EXPECT_LE(context.size(), 16u);
        EXPECT_EQ(context.back(), kEnd);
        // What there is fills it, but for a boundary's width.
        const std::size_t all = length + other + 2 * (prefix.size() + 1);
        EXPECT_GE(context.size(), std::min<std::size_t>(16, all) - 2) << length << " " << other;
      }
    }
  }
}

TEST(MemberContextsTest, AMemberWithoutRecordsReadsNothing) {
  for (const Retrieval retrieval : {Retrieval::kNone, Retrieval::kBm25}) {
    const auto contexts = Make({{}, {{1}}, {{}}}, retrieval);
    EXPECT_TRUE(contexts.is_empty(0));
    EXPECT_FALSE(contexts.is_empty(1));
    EXPECT_TRUE(contexts.is_empty(2));
    EXPECT_TRUE(contexts.Of(0, Tokens{1}).empty());
    EXPECT_TRUE(contexts.Of(2, Tokens{1}).empty());
  }
}

TEST(MemberContextsTest, WhatMatchesBestStandsLast) {
  const auto contexts = Make({{{1, 2}, {3, 4}, {5, 6}}}, Retrieval::kBm25);
  EXPECT_EQ(contexts.Of(0, Tokens{4, 9}), (Tokens{kEnd, 5, 6, kEnd, 1, 2, kEnd, 3, 4, kEnd}));
  EXPECT_EQ(contexts.Of(0, Tokens{6}), (Tokens{kEnd, 3, 4, kEnd, 1, 2, kEnd, 5, 6, kEnd}));
  const auto fixed = Make({{{1, 2}, {3, 4}, {5, 6}}}, Retrieval::kNone);
  EXPECT_EQ(fixed.Of(0, Tokens{4, 9}), fixed.Of(0, Tokens{6}));
}

// The middle of a long record is found, and read, by itself.
TEST(MemberContextsTest, LongRecordsAreSearchedInPieces) {
  Tokens record;
  for (base::TokenId token = 1; token <= 60; ++token) record.push_back(token);
  const Tokens context = Make({{record}}, Retrieval::kBm25).Of(0, Tokens{33});
  EXPECT_NE(std::ranges::find(context, 33), context.end());
  EXPECT_EQ(std::ranges::find(context, 1), context.end());
}

// Part-local (docs/privacy.md): whatever happens to another member's records, by any statistic of
// them, moves nothing.
TEST(MemberContextsTest, NoMemberDependsOnAnothersRecords) {
  const std::vector<Tokens> mine = {{1, 2, 3}, {2, 2, 6}, {7, 8, 1, 2}, {12}};
  const std::vector<std::vector<Tokens>> others = {
      {}, {{2}}, {{6, 6, 6}, {6}, {1}}, std::vector<Tokens>(50, Tokens(30, 7))};
  for (const Retrieval retrieval : {Retrieval::kNone, Retrieval::kBm25}) {
    for (const Tokens& query : {Tokens{2}, Tokens{6, 1}, Tokens{7, 12, 2}, Tokens{}}) {
      const Tokens alone = Make({mine}, retrieval).Of(0, query);
      for (const std::vector<Tokens>& other : others) {
        EXPECT_EQ(Make({other, mine}, retrieval).Of(1, query), alone);
      }
    }
  }
}

}  // namespace member_contexts_test
}  // namespace submix::contexts

#include "submix/corpus/user_tokens.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <span>

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"

namespace submix::corpus {
namespace user_tokens_test {

using base::StatusCode;
using base::StatusIs;
using base::TokenId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr TokenId kEnd = 256;

// One token a byte.
class ByteTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return 257; }
  std::size_t longest_token_bytes() const override { return 1; }
  TokenId end_of_text() const override { return kEnd; }
  base::StatusOr<std::vector<TokenId>> Encode(std::string_view bytes) const override {
    std::vector<TokenId> tokens;
    for (const char byte : bytes) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  std::string Decode(std::span<const TokenId>) const override { return ""; }
};

// The same, with something before every text.
constexpr TokenId kBegin = 257;
class BeginningTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return 258; }
  std::size_t longest_token_bytes() const override { return 1; }
  TokenId end_of_text() const override { return kEnd; }
  std::vector<TokenId> prefix() const override { return {kBegin}; }
  base::StatusOr<std::vector<TokenId>> Encode(std::string_view bytes) const override {
    return ByteTokenizer().Encode(bytes);
  }
  std::string Decode(std::span<const TokenId>) const override { return ""; }
};

// Cannot cut what has an "x" in it.
class PickyTokenizer final : public tokenizer::Tokenizer {
 public:
  int vocab_size() const override { return 257; }
  std::size_t longest_token_bytes() const override { return 1; }
  TokenId end_of_text() const override { return kEnd; }
  base::StatusOr<std::vector<TokenId>> Encode(std::string_view bytes) const override {
    if (bytes.find('x') != bytes.npos) return base::InvalidArgumentError("too hard");
    return ByteTokenizer().Encode(bytes);
  }
  std::string Decode(std::span<const TokenId>) const override { return ""; }
};

UserTokens StreamOf(const tokenizer::Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  RecordStream stream;
  for (const std::string& text : texts) {
    auto encoded = RecordEncoder(tokenizer).Encode({"u", text});
    EXPECT_THAT(encoded.status(), base::IsOk());
    stream.Append(*std::move(encoded));
  }
  return stream.Take("u", 1000);
}

TEST(RecordStreamTest, EndsStandBetweenTexts) {
  EXPECT_THAT(StreamOf(ByteTokenizer(), {"ab", "", "c"}).tokens,
              ElementsAre(kEnd, 'a', 'b', kEnd, kEnd, 'c', kEnd));
  EXPECT_THAT(StreamOf(BeginningTokenizer(), {"ab", "", "c"}).tokens,
              ElementsAre(kBegin, 'a', 'b', kEnd, kBegin, kEnd, kBegin, 'c', kEnd));
}

TEST(CutIntoTextsTest, EveryTextIsTheStreamOfItAlone) {
  const std::vector<std::string> texts = {"ab", "", "c", "defg"};
  const ByteTokenizer bytes;
  const BeginningTokenizer beginning;
  for (const tokenizer::Tokenizer* tokenizer :
       std::initializer_list<const tokenizer::Tokenizer*>{&bytes, &beginning}) {
    const auto cut = CutIntoTexts({StreamOf(*tokenizer, texts), StreamOf(*tokenizer, {"h"})});
    ASSERT_EQ(cut.size(), 5u);
    for (const std::size_t i : {0, 2, 3}) {
      EXPECT_EQ(cut[i].tokens, StreamOf(*tokenizer, {texts[i]}).tokens) << i;
    }
    std::vector<TokenId> empty = tokenizer->document_start();
    empty.push_back(kEnd);
    EXPECT_EQ(cut[1].tokens, empty);
    EXPECT_EQ(cut[4].tokens, StreamOf(*tokenizer, {"h"}).tokens);
    EXPECT_EQ(cut[4].user, "u");
  }
}

struct Line {
  std::string user;
  std::string text;
};

base::HashKey FixedKey() {
  base::HashKey key{};
  key[0] = 5;
  return key;
}

class PartitionCorpusTest : public ::testing::Test {
 protected:
  base::StatusOr<PartitionedCorpus> Partition(const std::vector<Line>& lines,
                                              const PartitionOptions& options) {
    const std::string path = directory_.File("corpus.jsonl");
    std::ofstream file(path);
    for (const Line& line : lines) {
      file << R"({"user": ")" << line.user << R"(", "text": ")" << line.text << "\"}\n";
    }
    file.close();
    const ByteTokenizer bytes;
    return PartitionCorpus(path, bytes, FixedKey(), options);
  }

  base::TemporaryDirectory directory_;
};

std::vector<Line> LinesOfUsers(int num_users) {
  std::vector<Line> lines;
  for (int i = 0; i < num_users; ++i) {
    lines.push_back({"u" + std::to_string(i), "text of " + std::to_string(i)});
  }
  return lines;
}

// Where every user is: the member, -1 for held out.
std::map<std::string, int> MemberOfUser(const PartitionedCorpus& corpus) {
  std::map<std::string, int> member_of_user;
  for (const UserTokens& user : corpus.heldout) member_of_user[user.user] = -1;
  for (std::size_t member = 0; member < corpus.members.size(); ++member) {
    for (const UserTokens& user : corpus.members[member]) {
      const bool is_new = member_of_user.emplace(user.user, static_cast<int>(member)).second;
      EXPECT_TRUE(is_new) << user.user << " is in two places";
    }
  }
  return member_of_user;
}

TEST_F(PartitionCorpusTest, JoinsEachUsersTextsInFileOrderBetweenBoundaries) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const PartitionedCorpus corpus,
      Partition({{"b", "xy"}, {"a", "k"}, {"b", ""}, {"b", "z"}}, PartitionOptions{1, 1, 0}));
  ASSERT_EQ(corpus.members.size(), 1u);
  ASSERT_EQ(corpus.members[0].size(), 2u);
  EXPECT_EQ(corpus.members[0][0].user, "a");
  EXPECT_THAT(corpus.members[0][0].tokens, ElementsAre(kEnd, 'k', kEnd));
  EXPECT_EQ(corpus.members[0][1].user, "b");
  EXPECT_THAT(corpus.members[0][1].tokens, ElementsAre(kEnd, 'x', 'y', kEnd, kEnd, 'z', kEnd));
  EXPECT_THAT(corpus.heldout, IsEmpty());
}

TEST_F(PartitionCorpusTest, ATextThatCannotBecomeTokensIsAnErrorWithItsPlace) {
  const std::string path = directory_.Write("picky.jsonl",
                                            "{\"user\": \"a\", \"text\": \"fine\"}\n"
                                            "{\"user\": \"b\", \"text\": \"an axe\"}\n");
  EXPECT_THAT(PartitionCorpus(path, PickyTokenizer(), FixedKey(), {1, 1, 0}),
              StatusIs(StatusCode::kInvalidArgument, path + ":2: too hard"));
}

// Otherwise it would be a unit of private training with a gradient of its own, and emptying a
// user's records would move more than taking the user out.
TEST_F(PartitionCorpusTest, AUserWithoutATokenOfTextHasNothingToTrainOn) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(
      const PartitionedCorpus corpus,
      Partition({{"a", ""}, {"b", "xy"}, {"a", ""}}, PartitionOptions{1, 1, 0}));
  ASSERT_EQ(corpus.members[0].size(), 2u);
  const UserTokens& empty = corpus.members[0][0];
  EXPECT_EQ(empty.user, "a");
  EXPECT_THAT(empty.tokens, IsEmpty());
  EXPECT_THAT(CutIntoBlocks({empty}, 8), IsEmpty());
  EXPECT_THAT(CutIntoTexts({empty}), IsEmpty());
}

TEST_F(PartitionCorpusTest, PutsUsersWherePlaceUserSays) {
  const PartitionOptions options{4, 2, 0.2};
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus corpus,
                              Partition(LinesOfUsers(300), options));
  EXPECT_EQ(corpus.members.size(), 8u);
  const std::map<std::string, int> member_of_user = MemberOfUser(corpus);
  EXPECT_EQ(member_of_user.size(), 300u);
  for (const auto& [user, member] : member_of_user) {
    const Placement placement = PlaceUser(FixedKey(), user, options);
    EXPECT_EQ(member, placement.is_heldout ? -1 : placement.part.index * 2 + placement.half);
  }
}

TEST_F(PartitionCorpusTest, AddingOrRemovingAUserMovesNoOther) {
  const PartitionOptions options{4, 2, 0.2};
  std::vector<Line> lines = LinesOfUsers(300);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus before, Partition(lines, options));
  lines.erase(lines.begin() + 100);
  lines.insert(lines.begin(), Line{"newcomer", "hello"});
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus after, Partition(lines, options));
  std::map<std::string, int> expected = MemberOfUser(before);
  std::map<std::string, int> found = MemberOfUser(after);
  EXPECT_EQ(expected.erase("u100"), 1u);
  EXPECT_EQ(found.erase("newcomer"), 1u);
  EXPECT_EQ(found, expected);
}

TEST_F(PartitionCorpusTest, DoesNotDependOnTheOrderOfUsersInTheFile) {
  const PartitionOptions options{4, 1, 0.2};
  std::vector<Line> lines = LinesOfUsers(100);
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus forward, Partition(lines, options));
  std::reverse(lines.begin(), lines.end());
  SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus backward, Partition(lines, options));
  const auto flatten = [](const PartitionedCorpus& corpus) {
    std::vector<std::pair<std::string, std::vector<TokenId>>> users;
    for (const auto& member : corpus.members) {
      for (const UserTokens& user : member) users.emplace_back(user.user, user.tokens);
    }
    for (const UserTokens& user : corpus.heldout) users.emplace_back(user.user, user.tokens);
    return users;
  };
  EXPECT_EQ(flatten(forward), flatten(backward));
}

// The neighbouring world of a user who is alone in a part.
TEST_F(PartitionCorpusTest, MembersMayGetNoUser) {
  for (const PartitionOptions& options :
       {PartitionOptions{2, 2, 0}, PartitionOptions{32, 1, 0}, PartitionOptions{2, 1, 0.999999}}) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(const PartitionedCorpus corpus,
                                Partition(LinesOfUsers(3), options));
    EXPECT_EQ(std::ssize(corpus.members), options.num_parts * options.halves);
    EXPECT_EQ(MemberOfUser(corpus).size(), 3u);
  }
}

TEST_F(PartitionCorpusTest, OfEachUserTheFirstTokensAreKept) {
  std::ofstream(directory_.File("capped.jsonl")) << R"({"user": "a", "text": "xyz"})"
                                                 << "\n"
                                                 << R"({"user": "b", "text": "x"})"
                                                 << "\n"
                                                 << R"({"user": "a", "text": "uvw"})"
                                                 << "\n";
  const std::vector<TokenId> long_one = {kEnd, 'x', 'y', 'z', kEnd, 'u', 'v', 'w', kEnd};
  const std::vector<TokenId> short_one = {kEnd, 'x', kEnd};
  for (std::int64_t most = 0; most <= 12; ++most) {
    SUBMIX_ASSERT_OK_AND_ASSIGN(
        const PartitionedCorpus corpus,
        PartitionCorpus(directory_.File("capped.jsonl"), ByteTokenizer(), {}, {1, 1, 0}, most));
    const auto kept = [most](std::vector<TokenId> tokens) {
      if (most > 0) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(most)));
      return tokens;
    };
    ASSERT_EQ(corpus.members[0].size(), 2u);
    EXPECT_EQ(corpus.members[0][0].tokens, kept(long_one)) << most;
    EXPECT_EQ(corpus.members[0][1].tokens, kept(short_one)) << most;
  }
}

TEST_F(PartitionCorpusTest, PassesOnTheErrorsOfReading) {
  EXPECT_THAT(Partition({}, PartitionOptions{1, 1, 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no record")));
  EXPECT_THAT(Partition({{"a", "x"}, {"", "y"}}, PartitionOptions{1, 1, 0}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("corpus.jsonl:2")));
}

// A user whose tokens are first, first + 1, ..., so that every transition is unique.
UserTokens CountingUser(TokenId first, int num_tokens) {
  UserTokens user;
  for (int i = 0; i < num_tokens; ++i) user.tokens.push_back(first + i);
  return user;
}

TEST(CutIntoBlocksTest, OverlapsConsecutiveBlocksByOneToken) {
  EXPECT_THAT(CutIntoBlocks({CountingUser(0, 7)}, 3),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(2, 3, 4), ElementsAre(4, 5, 6)));
  EXPECT_THAT(CutIntoBlocks({CountingUser(0, 6)}, 3),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(2, 3, 4), ElementsAre(4, 5)));
}

TEST(CutIntoBlocksTest, DropsWhatHoldsNoTransition) {
  EXPECT_THAT(CutIntoBlocks({}, 4), IsEmpty());
  EXPECT_THAT(CutIntoBlocks({CountingUser(0, 0), CountingUser(5, 1)}, 4), IsEmpty());
  EXPECT_THAT(CutIntoBlocks({CountingUser(0, 2)}, 4), ElementsAre(ElementsAre(0, 1)));
}

TEST(CutIntoBlocksTest, DropsWhatPredictsNothingThatCounts) {
  UserTokens user{"u", {0, 1, ~2, ~3, ~4, ~5, 6, ~7}};
  EXPECT_THAT(CutIntoBlocks({user}, 3), ElementsAre(ElementsAre(0, 1, ~2), ElementsAre(~4, ~5, 6)));
  user.tokens = {0, ~1, ~2};
  EXPECT_THAT(CutIntoBlocks({user}, 3), IsEmpty());
}

TEST(CutIntoBlocksTest, CoversEveryTransitionOnceAndMixesNoUsers) {
  for (int block_tokens = 2; block_tokens <= 9; ++block_tokens) {
    std::vector<UserTokens> users;
    std::multiset<std::pair<TokenId, TokenId>> expected;
    for (int length = 0; length <= 40; ++length) {
      users.push_back(CountingUser(1000 * length, length));
      for (int i = 1; i < length; ++i) expected.emplace(1000 * length + i - 1, 1000 * length + i);
    }
    std::multiset<std::pair<TokenId, TokenId>> found;
    for (const std::vector<TokenId>& block : CutIntoBlocks(users, block_tokens)) {
      EXPECT_GE(block.size(), 2u);
      EXPECT_LE(block.size(), static_cast<std::size_t>(block_tokens));
      for (std::size_t i = 1; i < block.size(); ++i) found.emplace(block[i - 1], block[i]);
    }
    EXPECT_EQ(found, expected) << block_tokens;
  }
}

}  // namespace user_tokens_test
}  // namespace submix::corpus

#include "submix/tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

namespace submix::tokenizer {
namespace byte_alphabet_test {

std::string AllBytes() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<char>(byte));
  return bytes;
}

TEST(ByteAlphabetTest, SpellsAsGpt2Does) {
  EXPECT_EQ(SpellBytes(" the"), "Ġthe");
  EXPECT_EQ(SpellBytes("\n\t"), "Ċĉ");
  EXPECT_EQ(SpellBytes("é"), "Ã©");
  EXPECT_EQ(SpellBytes(std::string("\0\x7f\xad\xff", 4)), "Āġ\u0143ÿ");
}

TEST(ByteAlphabetTest, SpellingRoundTripsForAllBytes) {
  EXPECT_EQ(BytesOfSpelling(SpellBytes(AllBytes())), AllBytes());
}

TEST(ByteAlphabetTest, RefusesCharactersOutsideTheAlphabet) {
  EXPECT_EQ(BytesOfSpelling("a b"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\u0144"), std::nullopt);  // one past the last
  EXPECT_EQ(BytesOfSpelling("\u00ad"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("你"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("a\xc4"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\xc4g"), std::nullopt);
  EXPECT_EQ(BytesOfSpelling("\xa0"), std::nullopt);
}

TEST(ByteAlphabetTest, OrdersBytesByTheirCharacters) {
  const auto& order = BytesInAlphabetOrder();
  EXPECT_EQ(order[0], '!');
  EXPECT_EQ(order[93], '~');
  EXPECT_EQ(order[94], 0xa1);
  EXPECT_EQ(order[188], 0);
  EXPECT_EQ(order[220], ' ');
  EXPECT_EQ(order[255], 0xad);
}

}  // namespace byte_alphabet_test
}  // namespace submix::tokenizer

#include "submix/eval/measuring/text_comparison.h"

#include <cmath>
#include <initializer_list>

#include <gmock/gmock.h>

namespace submix::eval {
namespace text_comparison_test {

using testing::ElementsAre;
using testing::IsNan;

class TextComparisonTest : public testing::Test {
 protected:
  TextSample SampleOf(std::initializer_list<const char*> texts) {
    TextSample sample;
    for (const char* text : texts) vocabulary_.AddDocument(text, sample);
    return sample;
  }

  Vocabulary vocabulary_;
};

TEST_F(TextComparisonTest, WordsAreRunsOfLettersWithoutCase) {
  const TextSample sample = SampleOf({"The sea, the SEA!  It's \xc3\xa9t\xc3\xa9.", "", "--"});
  EXPECT_THAT(sample.documents,
              ElementsAre(ElementsAre(0, 1, 0, 1, 2, 3, 4), ElementsAre(), ElementsAre()));
  EXPECT_EQ(sample.words(), 7);
}

TEST_F(TextComparisonTest, ThinsToWordsFromAllOver) {
  const TextSample sample = SampleOf({"a b", "c d", "e f", "g h", "i j", "k l"});
  EXPECT_THAT(ThinnedTo(sample, 5).documents,
              ElementsAre(ElementsAre(0, 1), ElementsAre(6, 7), ElementsAre(2)));
  EXPECT_THAT(ThinnedTo(sample, 0).documents, ElementsAre());
  EXPECT_EQ(ThinnedTo(sample, 12).words(), 12);
  EXPECT_EQ(ThinnedTo(sample, 100).documents, sample.documents);
}

// The third value is 3/2 - (3/4) log2(3), by the definition.
TEST_F(TextComparisonTest, DivergenceIsJensenAndShannons) {
  const TextSample fair = SampleOf({"a b", "b a"});
  EXPECT_EQ(NgramDivergence(fair, fair, 1), 0);
  EXPECT_DOUBLE_EQ(NgramDivergence(fair, SampleOf({"c d e"}), 1), 1);
  EXPECT_NEAR(NgramDivergence(fair, SampleOf({"a a"}), 1), 1.5 - .75 * std::log2(3), 1e-15);
  EXPECT_NEAR(NgramDivergence(SampleOf({"a a a b"}), SampleOf({"a b b c"}), 1), 0.25, 1e-15);
  // No pair goes over the end of a document.
  EXPECT_DOUBLE_EQ(NgramDivergence(SampleOf({"a b", "c d"}), SampleOf({"b c"}), 2), 1);
  EXPECT_EQ(NgramDivergence(SampleOf({"a b", "c d"}), SampleOf({"c d", "a b"}), 2), 0);
  EXPECT_THAT(NgramDivergence(fair, SampleOf({""}), 1), IsNan());
  EXPECT_THAT(NgramDivergence(fair, fair, 3), IsNan());
}

// The area between the quantile functions, by hand.
TEST_F(TextComparisonTest, LengthsAreApartByWassersteinsDistance) {
  const TextSample one_and_three = SampleOf({"a b c", "a"});
  EXPECT_EQ(LengthDistance(one_and_three, one_and_three), 0);
  EXPECT_DOUBLE_EQ(LengthDistance(one_and_three, SampleOf({"a b c d"})), 2);
  EXPECT_NEAR(LengthDistance(one_and_three, SampleOf({"", "a b", "a b c d"})), 1.0, 1e-12);
  EXPECT_NEAR(LengthDistance(SampleOf({"a b c", "a", "a b c d e f g"}), SampleOf({"a b", ""})),
              8.0 / 3, 1e-12);
  EXPECT_THAT(LengthDistance(one_and_three, {}), IsNan());
}

TEST_F(TextComparisonTest, CopiesAreCountedByPlaces) {
  const TextSample half = SampleOf({"The sea was grey."});
  const TextSample again = SampleOf({"and so was I, and so was I"});
  const TextSample across = SampleOf({"was calm and so"});
  const TextSample brief = SampleOf({"the sea", "was calm"});
  CopySearch search(3);
  for (const TextSample& text : {half, again, across, brief}) search.Watch(text);
  EXPECT_EQ(search.ShareCopied(half), 0);
  search.Read(SampleOf({"the sea was calm"}));
  search.Read(SampleOf({"and so was I"}));
  EXPECT_EQ(search.ShareCopied(half), 0.5);
  EXPECT_EQ(search.ShareCopied(again), 4.0 / 6);
  EXPECT_EQ(search.ShareCopied(across), 0);
  EXPECT_THAT(search.ShareCopied(brief), IsNan());
}

}  // namespace text_comparison_test
}  // namespace submix::eval

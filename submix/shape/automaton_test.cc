#include "submix/shape/automaton.h"

#include <string_view>

#include <gmock/gmock.h>

#include "submix/base/testing/status_matchers.h"

namespace submix::shape {
namespace automaton_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

bool Accepts(const Automaton& automaton, std::string_view text) {
  int state = automaton.start();
  for (const char c : text) {
    state = automaton.Next(state, static_cast<unsigned char>(c));
    if (state == Automaton::kNone) return false;
  }
  return automaton.accepts(state);
}

TEST(Automaton, RepeatsWithASeparatorBetween) {
  const auto automaton = Automaton::Compile(Repeat(Text("ab"), 2, kUnbounded, ", "));
  ASSERT_TRUE(automaton.ok());
  EXPECT_TRUE(Accepts(*automaton, "ab, ab"));
  EXPECT_TRUE(Accepts(*automaton, "ab, ab, ab, ab"));
  for (const auto* text : {"", "ab", "ab, ", "abab", "ab, ab, ", ", ab, ab"}) {
    EXPECT_FALSE(Accepts(*automaton, text)) << text;
  }
}

TEST(Automaton, MembersKeepTheirOrderAndOnlyTheRequiredOnesMustBeThere) {
  const auto automaton = Automaton::Compile(
      Members({Text("a"), Text("b"), Text("c"), Text("d")}, {false, true, false, false}, ","));
  ASSERT_TRUE(automaton.ok());
  for (const auto* text : {"b", "a,b", "b,c", "b,d", "a,b,c", "a,b,d", "b,c,d", "a,b,c,d"}) {
    EXPECT_TRUE(Accepts(*automaton, text)) << text;
  }
  for (const auto* text : {"", "a", "c", "b,a", "a,,b", ",b", "b,", "b,d,c", "a,c", "bb"}) {
    EXPECT_FALSE(Accepts(*automaton, text)) << text;
  }
}

TEST(Automaton, SaysWhatMustFollowAndWhereItEnds) {
  const auto automaton = Automaton::Compile(AnyOf({Text("good"), Text("gold"), Text("gold coin")}));
  ASSERT_TRUE(automaton.ok());
  const auto behind = [&](std::string_view text) {
    int state = automaton->start();
    for (const char c : text) state = automaton->Next(state, static_cast<unsigned char>(c));
    return state;
  };
  EXPECT_EQ(automaton->ForcedByte(behind("")), 'g');
  EXPECT_EQ(automaton->ForcedByte(behind("go")), std::nullopt);
  EXPECT_EQ(automaton->ForcedByte(behind("gold")), std::nullopt);  // it may end
  EXPECT_EQ(automaton->ForcedByte(behind("gold ")), 'c');
  EXPECT_TRUE(automaton->IsComplete(behind("good")));
  EXPECT_FALSE(automaton->IsComplete(behind("gold")));
  EXPECT_FALSE(automaton->IsComplete(behind("gol")));
}

TEST(Automaton, GoesNowhereFromWhereNothingIsAccepted) {
  const Expression nothing = AnyOf({});
  const auto automaton =
      Automaton::Compile(AnyOf({Text("x"), Concat({Text("dead end"), nothing})}));
  ASSERT_TRUE(automaton.ok());
  EXPECT_EQ(automaton->Next(automaton->start(), 'd'), Automaton::kNone);
  EXPECT_THAT(Automaton::Compile(nothing),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no text")));
  EXPECT_THAT(Automaton::Compile(Text("")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("only the empty text")));
}

TEST(Automaton, RefusesWhatPassesItsBounds) {
  // Which of the last 40 bytes was an a: 2^40 states.
  const Expression either = AnyOf({Text("a"), Text("b")});
  const Expression hostile =
      Concat({Repeat(either, 0, kUnbounded), Text("a"), Repeat(either, 40, 40)});
  EXPECT_THAT(Automaton::Compile(hostile),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("32768 states")));
  Expression deep = Text("a");
  for (int i = 0; i < 8; ++i) deep = Repeat(deep, 1000, 1000);
  EXPECT_THAT(Automaton::Compile(deep),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("262144 positions")));
  const Expression optional = Repeat(Repeat(Text("a"), 0, 1), 20'000, 20'000);
  EXPECT_THAT(Automaton::Compile(optional),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too long to compile")));
}

}  // namespace automaton_test
}  // namespace submix::shape

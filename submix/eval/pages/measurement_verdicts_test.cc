#include "submix/eval/pages/measurement_verdicts.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/eval/pages/four_digits.h"

namespace submix::eval {
namespace measurement_verdicts_test {

using testing::HasSubstr;
using testing::Not;

constexpr auto kHeld = VerdictTone::kHeld;
constexpr auto kNotJudged = VerdictTone::kNotJudged;
constexpr auto kBroken = VerdictTone::kBroken;

std::vector<Verdict> Verdicts(const std::string& kind, const std::string& rows) {
  const auto measurement = MakeMeasurement({kind, "", 0, "ab"}, rows);
  SUBMIX_EXPECT_OK(measurement);
  return VerdictsOf(*measurement);
}

Verdict TheVerdict(const std::string& kind, const std::string& rows) {
  const std::vector<Verdict> verdicts = Verdicts(kind, rows);
  EXPECT_EQ(verdicts.size(), 1U);
  return verdicts.empty() ? Verdict{} : verdicts.front();
}

TEST(FourDigitsTest, ArePrintedAndNoMore) {
  EXPECT_EQ(FourDigits(2.0915801080152483), "2.092");
  EXPECT_EQ(FourDigits(0.1), "0.1");
  EXPECT_EQ(FourDigits(1e-6), "1e-06");
  EXPECT_EQ(FourDigits(999.96), "1,000");
  EXPECT_EQ(FourDigits(1234.4), "1,234");
  EXPECT_EQ(FourDigits(-26973), "-26,970");
  EXPECT_EQ(FourDigits(123456789), "123,500,000");
  EXPECT_EQ(FourDigits(1e20), "1e+20");
  EXPECT_EQ(FourDigits(1.0 / 0.0), "–");
  EXPECT_EQ(CountText(1234567), "1,234,567");
  EXPECT_EQ(CountText(-123), "-123");
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(PercentText(0.463333), "46.33 %");
  EXPECT_EQ(MostTimesText(7.9), "2,698 times");
  EXPECT_EQ(MostPercentText(0.12341), "12.35 %");
  EXPECT_EQ(MostTimesText(45), "more than a billion times");
}

constexpr const char* kExtraction = R"([
  {"model": "dclip", "order": "8", "epsilon": 4, "decoding": "sampled", "codes": 3, "extracted": 0,
   "attempts": 300, "hits": 0},
  {"model": "members", "order": null, "epsilon": null, "decoding": "sampled", "codes": 3,
   "extracted": 3, "attempts": 300, "hits": 139},
  {"model": "dclip", "order": "8", "epsilon": 4, "decoding": "greedy", "codes": 3, "extracted": 1,
   "attempts": 3, "hits": 1}])";

TEST(MeasurementVerdictsTest, ExtractionSaysWhatCameOutWhatIsAllowedAndWhatModelsGiveAway) {
  const Verdict verdict = TheVerdict("attack extraction", kExtraction);
  EXPECT_THAT(verdict.sentence,
              HasSubstr("Under dclip with 4 nats at order 8: 0 of 3 came out, in 0 of 300 attempts "
                        "(a rate below 0.9936 % at 95 % confidence), 1 of 3 came out, in 1 of 3 "
                        "attempts at the likeliest tokens"));
  // 4 nats at order 8 are (5.55…, 1e-6).
  EXPECT_THAT(verdict.sentence, HasSubstr(" times as likely as without the text of one part"));
  EXPECT_THAT(verdict.sentence, HasSubstr("members: 3 of 3 came out, in 139 of 300 attempts."));
  EXPECT_EQ(verdict.tone, kHeld);
}

TEST(MeasurementVerdictsTest, EveryPromiseThatWasAttackedHasItsOwn) {
  EXPECT_EQ(Verdicts("attack targeted", R"([
      {"model": "dclip", "order": "8", "epsilon": 1, "examples": 3, "right": 0, "tokens_right": 0},
      {"model": "dclip", "order": "8", "epsilon": 2, "examples": 3, "right": 1, "tokens_right": 0.5}
      ])")
                .size(),
            2U);
  const Verdict none = TheVerdict(
      "attack targeted", R"([{"model": "members", "examples": 3, "right": 3, "tokens_right": 1}])");
  EXPECT_EQ(none.tone, kNotJudged);
  EXPECT_THAT(none.sentence, HasSubstr("No promise was attacked. To compare: members: 3 of 3"));
}

TEST(MeasurementVerdictsTest, WhatCameOutBySamplingIsNotHeld) {
  std::string rows = kExtraction;
  rows.replace(rows.find("\"hits\": 0"), 9, "\"hits\": 1");
  EXPECT_EQ(TheVerdict("attack extraction", rows).tone, kNotJudged);
}

TEST(MeasurementVerdictsTest, ExposureIsTheMeanOverSecrets) {
  const Verdict verdict = TheVerdict("attack exposure", R"([
      {"model": "dclip", "order": "inf", "epsilon": 1, "exposure": 1, "bits": 13.2877},
      {"model": "public", "order": null, "epsilon": null, "exposure": 2, "bits": 13.2877},
      {"model": "dclip", "order": "inf", "epsilon": 1, "exposure": 2, "bits": 13.2877}])");
  EXPECT_THAT(verdict.sentence,
              HasSubstr("Under dclip with 1 nats at order inf: 1.5 of 13.29 bits"));
  EXPECT_THAT(verdict.sentence, HasSubstr("public: 2 of 13.29 bits"));
  EXPECT_THAT(verdict.sentence, HasSubstr("at most 2.719 times"));
  EXPECT_EQ(verdict.tone, kNotJudged);
}

std::string Membership(double surely, const std::string& bound) {
  return R"([{"model": "dclip", "order": "8", "epsilon": 2, "measure": "TPR at FPR 0.01",
              "value": 0.0819, "surely": )" +
         std::to_string(surely) + R"(, "bound": )" + bound + "}]";
}

TEST(MeasurementVerdictsTest, MembershipIsHeldAgainstItsBound) {
  const Verdict within = TheVerdict("attack membership", Membership(0.06, "0.2615"));
  EXPECT_THAT(
      within.sentence,
      HasSubstr(
          "at 1 % false alarms the text was recognised in 8.19 % of the cases in which "
          "it was there; the promise allows 26.15 %. Nothing that was found surely exceeds it."));
  EXPECT_EQ(within.tone, kHeld);
  const Verdict beyond = TheVerdict("attack membership", Membership(0.3, "0.2615"));
  EXPECT_THAT(beyond.sentence, HasSubstr("WHAT WAS FOUND SURELY EXCEEDS IT"));
  EXPECT_EQ(beyond.tone, kBroken);
  const Verdict unpromised = TheVerdict("attack membership", Membership(0.3, "null"));
  EXPECT_THAT(unpromised.sentence, HasSubstr("Nothing is promised"));
  EXPECT_EQ(unpromised.tone, kNotJudged);
}

TEST(MeasurementVerdictsTest, AClaimThatIsNotProvenIsNoPromise) {
  const std::string research = R"([{"model": "adapmixed", "guarantee": "research", )";
  const Verdict targeted = TheVerdict(
      "attack targeted", research + R"("order": "8", "epsilon": 2, "right": 0, "examples": 1}])");
  EXPECT_THAT(targeted.sentence, HasSubstr("Its claim is research, and not proven."));
  const Verdict membership = TheVerdict(
      "attack membership", research + R"("order": "8", "epsilon": 2, "value": 0.1, "surely": 0.1,
                                         "bound": 0.2, "measure": "TPR at FPR 0.01"}])");
  EXPECT_THAT(membership.sentence, HasSubstr("its claim, which is not proven, allows 20 %"));
  for (const Verdict& verdict : {targeted, membership}) {
    EXPECT_THAT(verdict.sentence, Not(HasSubstr("promise")));
  }
}

std::string Audit(const std::string& verdict, const std::string& claimed) {
  return R"([{"model": "dclip", "delta": 1e-5, "claimed_epsilon": )" + claimed +
         R"(, "epsilon_at_least": 2.55882, "right": 22, "guessed": 26, "verdict": ")" + verdict +
         "\"}]";
}

TEST(MeasurementVerdictsTest, AuditsSayWhetherThePromiseIsRefuted) {
  for (const char* kind : {"audit epsilon", "audit one-run"}) {
    const Verdict held = TheVerdict(kind, Audit("not refuted", "12.13"));
    EXPECT_THAT(
        held.sentence,
        HasSubstr("epsilon was at least 2.558 (delta 1e-05); the promise is at most 12.13. That "
                  "is not refuted"));
    EXPECT_EQ(held.tone, kHeld);
    const Verdict refuted = TheVerdict(kind, Audit("REFUTED", "1"));
    EXPECT_THAT(refuted.sentence, HasSubstr("THE PROMISE IS REFUTED"));
    EXPECT_EQ(refuted.tone, kBroken);
    EXPECT_EQ(TheVerdict(kind, Audit("exceeded", "1")).tone, kBroken);
    const Verdict unpromised = TheVerdict(kind, Audit("no claim", "null"));
    EXPECT_THAT(unpromised.sentence, Not(HasSubstr("promise is at most")));
    EXPECT_EQ(unpromised.tone, kNotJudged);
  }
  EXPECT_THAT(TheVerdict("audit one-run", Audit("not refuted", "12")).sentence,
              HasSubstr("22 of 26 guesses were right"));
}

// Two comparisons, without padding and with it: eight tests.
std::string Timing(double p) {
  std::string rows;
  for (const char* quantum : {"0", "25"}) {
    for (const char* pair : {R"("first": "all can pay", "second": "none can")",
                             R"("first": "agree", "second": "contradict")"}) {
      rows += (rows.empty() ? "[{" : ", {") + std::string(pair) + R"(, "quantum_ms": )" + quantum +
              R"(, "all": {"p_value": 0.5, "detectable_difference_ms": 9},
                 "without_slowest_tenth": {"p_value": )" +
              (rows.empty() ? std::to_string(p) : "0.7") +
              R"(, "difference_ms": -0.029, "detectable_difference_ms": )" +
              (quantum[0] == '0' ? "0.15" : "0.01") + "}}";
    }
  }
  return rows + "]";
}

TEST(MeasurementVerdictsTest, TimingSaysWhatWasSeenAndWhatCouldHide) {
  const Verdict quiet = TheVerdict("audit timing", Timing(0.0063));
  EXPECT_THAT(quiet.sentence,
              HasSubstr("No difference was seen that is more than chance: of 8 tests "
                        "the least p is 0.0063."));
  EXPECT_THAT(quiet.sentence, HasSubstr("Without padding, one of 0.15 ms would have been seen"));
  EXPECT_THAT(quiet.sentence, HasSubstr("Padded to multiples of 25 ms, one of 0.01 ms"));
  EXPECT_EQ(quiet.tone, kHeld);
  const Verdict seen = TheVerdict("audit timing", Timing(0.0062));
  EXPECT_THAT(seen.sentence, HasSubstr("A DIFFERENCE WAS SEEN"));
  EXPECT_THAT(seen.sentence, HasSubstr("all can pay, then none can: -0.029 ms."));
  EXPECT_EQ(seen.tone, kBroken);
}

TEST(MeasurementVerdictsTest, EvaluationSaysWhatIsKept) {
  const Verdict verdict = TheVerdict("evaluate", R"([
      {"model": "public", "order": null, "epsilon": null, "perplexity": "223.96"},
      {"model": "single", "order": null, "epsilon": null, "perplexity": "120"},
      {"model": "filtered-submix", "order": "8", "epsilon": "2", "perplexity": "152.62",
       "kept": "0.5601"},
      {"model": "dclip", "order": "", "epsilon": "8", "perplexity": "160", "kept": null}])");
  EXPECT_THAT(verdict.sentence,
              HasSubstr(" public: 224. filtered-submix with 2 nats at order 8: 152.6, which keeps "
                        "56.01 % of what fine-tuning without privacy gains. dclip with epsilon 8: "
                        "160."));
  EXPECT_THAT(verdict.sentence, Not(HasSubstr("single")));
}

TEST(MeasurementVerdictsTest, EveryKindIsToldAndWhatIsUnknownIsNot) {
  for (const MeasuredKind& kind : MeasuredKinds()) {
    if (kind.kind == "audit timing") continue;
    EXPECT_FALSE(Verdicts(std::string(kind.kind), R"([{"model": "dclip"}])").empty()) << kind.kind;
  }
  EXPECT_TRUE(Verdicts("audit timing", R"([{"model": "dclip"}])").empty());
  EXPECT_TRUE(Verdicts("attack tomorrow", R"([{"model": "dclip"}])").empty());
}

}  // namespace measurement_verdicts_test
}  // namespace submix::eval

#include "submix/eval/measuring/machine_times.h"

namespace submix::eval {
namespace machine_times_test {

constexpr MachineTimes kTimes = {.block_positions = 100,
                                 .ensemble_positions_a_second = 50,
                                 .dp_sgd_positions_a_second = 10,
                                 .public_milliseconds = 4,
                                 .member_milliseconds = 0.5};

Contender Of(const char* mechanism) {
  Contender contender;
  contender.input.users = 30;
  contender.input.tokens_a_user = 150;  // two blocks
  contender.mechanism = mechanism;
  return contender;
}

TEST(MachineTimesTest, AnEnsembleReadsEveryBlockInEveryPass) {
  Contender dclip = Of("dclip");
  dclip.parts = 16;
  dclip.passes = 3;
  EXPECT_DOUBLE_EQ(TrainingMinutes(kTimes, dclip), 3 * 30 * 200 / 50.0 / 60);
  EXPECT_DOUBLE_EQ(TokenMilliseconds(kTimes, dclip), 12);
}

TEST(MachineTimesTest, PrivateTrainingReadsItsShareInEveryStepAndAnswersAsOneModel) {
  Contender private_model = Of("dp-sgd");
  private_model.steps = 8;
  private_model.sampling_probability = 0.25;
  EXPECT_DOUBLE_EQ(TrainingMinutes(kTimes, private_model), 8 * 0.25 * 30 * 200 / 10 / 60);
  EXPECT_DOUBLE_EQ(TokenMilliseconds(kTimes, private_model), 4);
}

TEST(MachineTimesTest, AnEnsembleOverAPrivateModelTakesBoth) {
  Contender both = Of("dclip");
  both.steps = 8;
  both.sampling_probability = 0.25;
  EXPECT_DOUBLE_EQ(TrainingMinutes(kTimes, both),
                   (30 * 200 / 50.0 + 8 * 0.25 * 30 * 200 / 10) / 60);
}

TEST(MachineTimesTest, AreKeptAsText) {
  const MachineTimes times = {.block_positions = 127,
                              .ensemble_positions_a_second = 1.0 / 3,
                              .dp_sgd_positions_a_second = 1e9,
                              .public_milliseconds = 0.1,
                              .member_milliseconds = 0};
  const auto kept = ParseTimes(TimesText(times));
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(TimesText(*kept), TimesText(times));
  EXPECT_EQ(kept->ensemble_positions_a_second, 1.0 / 3);
}

TEST(MachineTimesTest, OtherTextIsNotTaken) {
  const std::string text = TimesText({.block_positions = 1});
  for (const std::string& other : {std::string(), text.substr(0, text.size() / 2), "x" + text,
                                   std::string("block_positions 0\n")}) {
    EXPECT_FALSE(ParseTimes(other).has_value()) << other;
  }
}

}  // namespace machine_times_test
}  // namespace submix::eval

#include "submix/eval/measuring/promised_settings.h"

#include "submix/accounting/rdp_conversion.h"
#include "submix/base/testing/status_matchers.h"

namespace submix::eval {
namespace promised_settings_test {

EvaluationSetting Dclip() {
  EvaluationSetting setting;
  setting.mechanism.name = "dclip";
  setting.mechanism.num_parts = 16;
  setting.tokens = 256;
  setting.epsilon = 8;
  return setting;
}

TEST(PromisedSettingsTest, TheBudgetKeepsWhatAUserIsPromised) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationSetting kept,
                              KeepPromise(Dclip(), {.epsilon = 8, .delta = 1e-6}));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto statement, StatementOf(kept, 1e-6, false));
  const double promised = accounting::BestEpsilon(accounting::StatedUserLevelBounds(statement),
                                                  1e-6, accounting::ConversionKind::kImproved)
                              ->epsilon;
  EXPECT_LE(promised, 8);
  EXPECT_GT(promised, 7.9);
}

TEST(PromisedSettingsTest, APartPaysForItsShareOfTheTokens) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const EvaluationSetting kept,
                              KeepPromise(Dclip(), {.epsilon = 8, .delta = 1e-6}));
  EXPECT_NEAR(kept.mechanism.target_leakage * 256, kept.epsilon, 1e-9 * kept.epsilon);
}

TEST(PromisedSettingsTest, ThePublicModelAloneCostsNothing) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto statement, StatementOf(PublicModelAlone(4), 1e-6, false));
  EXPECT_EQ(statement.epsilon, accounting::FixedNats());
}

}  // namespace promised_settings_test
}  // namespace submix::eval

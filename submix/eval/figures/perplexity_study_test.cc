#include "submix/eval/figures/perplexity_study.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/mechanism/research/adapmixed.h"

namespace submix::eval {
namespace perplexity_study_test {

// The paper's table: .472 for the answers, .002 for the screen, .450 for the conversion. Its order
// and delta follow from the last; 50 members and 2,560 tokens give the second.
TEST(PrivacyLossTest, IsThePapersTable) {
  SettingResult result;
  mechanism::MechanismOptions& options = result.setting.mechanism;
  options.name = mechanism::kAdaPMixedName;
  options.num_parts = 50;
  options.order = divergence::RenyiOrder::Create(18).value();
  options.target_leakage = 1;
  options.screen.mixing_weight = 1e-4;
  options.screen.noise_scale = 1e-2;
  result.setting.tokens = 2560;
  result.epsilon_spent_max = 0.474;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto loss, PrivacyLossOf(result));
  ASSERT_TRUE(loss.has_value());
  EXPECT_NEAR(loss->answers, 0.472, 5e-4);
  EXPECT_NEAR(loss->screen, 0.002, 5e-4);
  EXPECT_NEAR(loss->conversion, 0.450, 5e-4);
  EXPECT_NEAR(loss->epsilon(), 0.924, 5e-4);
}

TEST(PrivacyLossTest, IsOfAScreenedMechanismOnly) {
  SettingResult result;
  result.setting.mechanism.name = "dclip";
  SUBMIX_ASSERT_OK_AND_ASSIGN(const auto loss, PrivacyLossOf(result));
  EXPECT_FALSE(loss.has_value());
}

}  // namespace perplexity_study_test
}  // namespace submix::eval

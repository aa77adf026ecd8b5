#include "submix/train/recipes/training_options.h"

#include <cmath>
#include <limits>

#include "submix/base/testing/status_matchers.h"
#include "submix/model/testing/tiny_model.h"
#include "submix/train/recipes/fine_tune_options.h"

namespace submix::train {
namespace training_options_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class TrainingOptionsTest : public ::testing::Test {
 protected:
  TrainingOptionsTest() { good_.block_tokens = 9; }

  // Sets an option of good ones to each of the values, which must be refused by name.
  template <typename Value>
  void ExpectRefused(const char* name, Value& option, const std::vector<Value>& values) {
    const Value good = option;
    SUBMIX_EXPECT_OK(CheckFineTuneOptions(good_, model::TinyConfig()));
    for (const Value value : values) {
      option = value;
      EXPECT_THAT(CheckFineTuneOptions(good_, model::TinyConfig()),
                  StatusIs(StatusCode::kInvalidArgument,
                           AllOf(HasSubstr(std::string(name) + ": expected"), HasSubstr("found"))))
          << value;
    }
    option = good;
  }

  FineTuneOptions good_;
};

TEST_F(TrainingOptionsTest, NumbersThatTrainNothingAreRefusedByName) {
  ExpectRefused("learning_rate", good_.learning_rate.peak, {kNan, kInfinity, 1e300, 0.0, -1.0});
  ExpectRefused("warmup_fraction", good_.learning_rate.warmup_fraction, {kNan, 7.0, -0.1});
  ExpectRefused("weight_decay", good_.adamw.weight_decay, {kNan, kInfinity, 1e300, -1.0});
  ExpectRefused("lora_alpha", good_.lora->lora_alpha, {kNan, kInfinity, 1e300, 0.0, -1.0});
  ExpectRefused("rank", good_.lora->rank, {0, 49, 100'000});  // c_attn has 48 outputs
  ExpectRefused("block_tokens", good_.block_tokens, {-1, 0, 1, 26});
  ExpectRefused("epochs", good_.epochs, {0, std::numeric_limits<int>::max()});
  ExpectRefused("batch_size", good_.batch_size, {0, std::numeric_limits<int>::max()});
  ExpectRefused("members_at_a_time", good_.members_at_a_time, {0, 1 << 20});
  ExpectRefused("threads", good_.threads, {-1, 1 << 20});
}

TEST_F(TrainingOptionsTest, EndsOfTheRangesAreGood) {
  good_.learning_rate = {.peak = 0.5, .warmup_fraction = 0};
  good_.adamw.weight_decay = 2;
  good_.lora->rank = 16;
  good_.block_tokens = 2;
  SUBMIX_EXPECT_OK(CheckFineTuneOptions(good_, model::TinyConfig()));
  good_.learning_rate.warmup_fraction = 1;
  good_.block_tokens = 25;
  SUBMIX_EXPECT_OK(CheckFineTuneOptions(good_, model::TinyConfig()));
}

TEST_F(TrainingOptionsTest, TargetsAndLayersAreTheModels) {
  good_.lora->target_modules = {"q_proj"};
  EXPECT_THAT(CheckFineTuneOptions(good_, model::TinyConfig()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("q_proj")));
  good_.lora->target_modules = {"c_attn"};
  good_.lora->layers = {3};
  EXPECT_THAT(CheckFineTuneOptions(good_, model::TinyConfig()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("layer 3")));
}

}  // namespace training_options_test
}  // namespace submix::train

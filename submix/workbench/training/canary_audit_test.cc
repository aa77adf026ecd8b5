#include "submix/workbench/training/canary_audit.h"

#include "submix/base/testing/status_matchers.h"
#include "submix/base/testing/temporary_directory.h"
#include "submix/eval/audits/epsilon_audit.h"
#include "submix/train/recipes/testing/byte_model.h"

namespace submix::workbench {
namespace canary_audit_test {

using base::StatusCode;
using base::StatusIs;
using ::testing::HasSubstr;

class CanaryAuditTest : public ::testing::Test {
 protected:
  CanaryAuditTest() {
    request_.public_directory = directory_.File("public");
    SUBMIX_EXPECT_OK(train::WriteByteModel(request_.public_directory));
    request_.corpus = directory_.Write("c.jsonl",
                                       "{\"user\": \"a\", \"text\": \"abcabcabc\"}\n"
                                       "{\"user\": \"b\", \"text\": \"bcdbcd\"}\n"
                                       "{\"user\": \"c\", \"text\": \"\"}\n");
    request_.users = 2;
    request_.canary_tokens = 6;
    request_.sampling_probability = 1;
    request_.target = {5, 1e-5};
    request_.training.steps = 1;
    request_.training.block_tokens = 9;
    request_.training.lora->rank = 2;
    request_.training.lora->target_modules = {"c_attn", "mlp.c_fc"};
    // So large a floor that an update is the gradient itself: what is tested is the noise.
    request_.training.adamw.denominator_floor = 10;
    request_.training.learning_rate.peak = 0.02;
    request_.training.learning_rate.warmup_fraction = 0;
    request_.training.threads = 1;
    request_.predictor.threads = 1;
    request_.predictor.precision = "f32";
    request_.runs = 8;
  }

  // Nats at order 2.
  struct Nats {
    double claimed = 0;
    double proven = 0;
  };
  Nats Audit(CanaryKind kind, double noise_share, int runs) {
    request_.kind = kind;
    request_.noise_share = noise_share;
    request_.runs = runs;
    const auto found = AuditByCanaries(request_);
    SUBMIX_EXPECT_OK(found.status());
    EXPECT_EQ(found->with.size() + found->without.size(), static_cast<std::size_t>(runs));
    Nats nats;
    for (const accounting::RdpBound& bound : accounting::StatedBounds(found->statement)) {
      if (bound.order == divergence::RenyiOrder::Two()) nats.claimed = bound.rdp;
    }
    EXPECT_GT(nats.claimed, 0);
    nats.proven = eval::AuditEpsilon(found->with, found->without, {}).rdp;
    return nats;
  }

  base::TemporaryDirectory directory_;
  CanaryAuditRequest request_;
};

TEST_F(CanaryAuditTest, NoiseOfHalfTheSizeIsFound) {
  const Nats nats = Audit(CanaryKind::kNewTokens, 0.5, 1000);
  EXPECT_GT(nats.proven, nats.claimed);
}

TEST_F(CanaryAuditTest, TheNoiseThatIsAccountedForIsNotRefuted) {
  for (const CanaryKind kind : {CanaryKind::kNewTokens, CanaryKind::kOddCompletion}) {
    const Nats nats = Audit(kind, 1, 200);
    EXPECT_LE(nats.proven, nats.claimed);
    EXPECT_GT(nats.proven, 0) << "or nothing is seen";
  }
}

TEST_F(CanaryAuditTest, TheSameSeedGivesTheSameNumbers) {
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CanaryAudit one, AuditByCanaries(request_));
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CanaryAudit again, AuditByCanaries(request_));
  EXPECT_EQ(one.with, again.with);
  request_.seed = 1;
  SUBMIX_ASSERT_OK_AND_ASSIGN(const CanaryAudit other, AuditByCanaries(request_));
  EXPECT_NE(one.without, other.without);
}

TEST_F(CanaryAuditTest, WhatCannotBeAuditedIsRefused) {
  const auto refusal = [&](auto change, const std::string& reason) {
    CanaryAuditRequest request = request_;
    change(request);
    EXPECT_THAT(AuditByCanaries(request),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(reason)));
  };
  refusal([](auto& request) { request.runs = 7; }, "runs");
  refusal([](auto& request) { request.users = 3; }, "2 users with text");
  refusal([](auto& request) { request.canary_tokens = 9; }, "canary tokens");
  refusal([](auto& request) { request.noise_share = 0; }, "noise share");
  refusal([](auto& request) { request.training.steps = 0; }, "steps");
}

}  // namespace canary_audit_test
}  // namespace submix::workbench

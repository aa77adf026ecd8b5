// The ways to answer from so many users' text under one promise to each user, beside each other:
// what each declares, what that promises, and what it may be expected to keep. Functions of public
// numbers alone. Privacy is counted by the functions that `submix deploy`, `train` and `account`
// call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "submix/base/status.h"
#include "submix/divergence/renyi_order.h"
#include "submix/eval/measuring/measured_model.h"

namespace submix::eval {

struct PlanInput {
  double users = 0;          // whose text is trained on
  double tokens_a_user = 0;  // on average
  // (epsilon, delta) is promised to one user whose records are added, removed or changed; by DP-SGD
  // to one who is there or not.
  double epsilon = 0;
  double delta = 0;
  std::int64_t tokens = 0;  // of all answers together; DP-SGD gives any number
  // That the public model is like; none: nothing is expected.
  std::optional<MeasuredModel> model = MeasuredModel::kSmallGpt2;
};

struct Contender {
  PlanInput input;
  std::string mechanism;  // "dclip", "filtered-submix", "dp-sgd"
  int parts = 1;
  int passes = 1;  // over the text, in training
  double tokens_a_part = 0;

  // What an ensemble declares: parts pay at most `target_leakage` nats at `order` for a token.
  divergence::RenyiOrder order = divergence::RenyiOrder::Two();
  double target_leakage = 0;
  std::optional<double> clip = {};  // dclip's C
  std::int64_t tokens = 0;          // that every part can surely back; at least those asked for
  std::optional<double> part_epsilon = {};  // of them together, at input.delta
  // DP-SGD's: of the whole training, or of the model below an ensemble.
  double sampling_probability = 0;
  double noise_multiplier = 0;
  std::int64_t steps = 0;
  int rank = 0;  // of the adapters; 0: as `submix train` takes it
  // What `submix train` was told beside, where this was measured, of members and of DP-SGD; empty:
  // its own recipe was.
  std::string_view recipe = "";
  std::string_view dp_sgd_recipe = "";
  double training_epsilon = 0;  // of the model below an ensemble alone, at input.delta

  double user_epsilon = 0;                    // at input.delta: what is promised
  std::optional<double> expected_share = {};  // none: outside what was measured

  bool is_ensemble() const { return mechanism != "dp-sgd"; }
  // How far a member may move a token, in nats (expected_share.h). Requires: is_ensemble().
  double reach() const;
  bool is_over_dp_sgd() const { return is_ensemble() && steps > 0; }
};

// Below a tenth of 1 / users, rounded down to a power of ten. Requires: users > 0.
double DeltaFor(double users);

// Ensembles of 16, 32, ..., 512 parts, as many as there are users and tokens for, private training,
// and both, an ensemble over a model of DP-SGD (Theorem 15), where it was measured; the largest
// expected share first. Those without one follow unranked: private training, whose noise more users
// make up for, then ensembles by reach, since an answer is no further from the public model's than
// that. Left out is what no budget pays for. Errors: kInvalidArgument for numbers out of range, or
// if no budget pays for any.
base::StatusOr<std::vector<Contender>> Contenders(const PlanInput& input);

// Why no ensemble is among them: too few users, or too little text. Empty: there is enough for one.
std::string WhyNoEnsemble(const PlanInput& input);

enum class Unknown { kEpsilon, kTokens, kUsers };

// The same, each with the least epsilon, the most tokens or the fewest users, in two digits, with
// which it may be expected to keep `share`; the best first. That member of `input` is not read.
// Errors: likewise; kInvalidArgument if nothing that was measured keeps as much.
base::StatusOr<std::vector<Contender>> ContendersThatKeep(double share, Unknown unknown,
                                                          const PlanInput& input);

}  // namespace submix::eval

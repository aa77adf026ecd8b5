#include "submix/train/models/row_operations.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

namespace submix::train {
namespace row_operations_test {

// Equal but for one rounding to the actual one's type: a step of bfloat16 is 2^-8 of the number.
void ExpectNear(const at::Tensor& actual, const at::Tensor& expected, const char* what) {
  ASSERT_EQ(actual.sizes(), expected.sizes()) << what;
  const double rounding = actual.scalar_type() == torch::kFloat ? 1e-5 : 0x1p-7;
  EXPECT_TRUE(at::allclose(actual.to(torch::kFloat), expected.to(torch::kFloat), rounding, 1e-4))
      << what;
}

// The gradients of the inputs where `outputs` are weighed by random numbers, which are the same in
// bfloat16.
std::vector<at::Tensor> Gradients(const std::vector<at::Tensor>& outputs,
                                  const std::vector<at::Tensor>& inputs) {
  torch::manual_seed(7);
  at::Tensor sum = torch::zeros({});
  for (const at::Tensor& output : outputs) {
    const at::Tensor weights = torch::randn(output.sizes()).to(torch::kBFloat16);
    sum = sum + (output.to(torch::kFloat) * weights).sum();
  }
  return torch::autograd::grad({sum}, inputs);
}

at::Tensor Random(at::IntArrayRef sizes, at::ScalarType type = torch::kFloat) {
  return (torch::randn(sizes) * 2 + .5).to(type).requires_grad_();
}

// The same numbers in float32.
at::Tensor Wide(const at::Tensor& x) {
  return x.detach().to(torch::kFloat).clone().requires_grad_();
}

const at::ScalarType kTypes[] = {torch::kFloat, torch::kBFloat16};

TEST(RowOperationsTest, ActivationsEqualTorch) {
  for (const at::ScalarType type : kTypes) {
    for (const bool is_silu : {false, true}) {
      const at::Tensor x = Random({30, 101}, type);
      const at::Tensor factor = Random({30, 101}, type);
      const at::Tensor wide_x = Wide(x);
      const at::Tensor wide_factor = Wide(factor);
      const auto plain = [&] { return is_silu ? at::silu(wide_x) : at::gelu(wide_x, "tanh"); };
      const auto kind = is_silu ? RowActivation::kSilu : RowActivation::kGelu;
      const at::Tensor y = Activate(kind, x, c10::nullopt);
      EXPECT_EQ(y.scalar_type(), type);
      ExpectNear(y, plain(), "activation");
      ExpectNear(Gradients({y}, {x})[0], Gradients({plain()}, {wide_x})[0], "its gradient");

      const at::Tensor gated = Activate(kind, x, factor);
      const at::Tensor expected_gated = plain() * wide_factor;
      ExpectNear(gated, expected_gated, "gated");
      const auto grads = Gradients({gated}, {x, factor});
      const auto expected_grads = Gradients({expected_gated}, {wide_x, wide_factor});
      ExpectNear(grads[0], expected_grads[0], "gradient of x");
      ExpectNear(grads[1], expected_grads[1], "gradient of the factor");
    }
  }
}

at::Tensor PlainNorm(const at::Tensor& x, const NormWeights& weights) {
  if (weights.centres) {
    return at::layer_norm(x, {x.size(-1)}, weights.gain, weights.shift, weights.epsilon);
  }
  return x * at::rsqrt(x.square().mean(-1, /*keepdim=*/true) + weights.epsilon) * weights.gain;
}

// More rows than are taken at a time.
TEST(RowOperationsTest, NormsEqualTorch) {
  for (const at::ScalarType type : kTypes) {
    for (const bool centres : {false, true}) {
      NormWeights weights = {.gain = Random({37}), .epsilon = 1e-5, .centres = centres};
      if (centres) weights.shift = Random({37});
      const at::Tensor x = Random({10, 7, 37}, type);
      const at::Tensor wide_x = Wide(x);
      const at::Tensor y = NormRows(x, weights, type);
      EXPECT_EQ(y.scalar_type(), type);
      const at::Tensor expected = PlainNorm(wide_x, weights);
      ExpectNear(y, expected, "norm");
      std::vector<at::Tensor> of_weights = {weights.gain};
      if (centres) of_weights.push_back(*weights.shift);
      ExpectNear(Gradients({y}, {x})[0], Gradients({expected}, {wide_x})[0], "gradient of x");
      const auto grads = Gradients({NormRows(x, weights, type)}, of_weights);
      const auto expected_grads = Gradients({PlainNorm(wide_x, weights)}, of_weights);
      for (std::size_t i = 0; i < grads.size(); ++i) {
        ExpectNear(grads[i], expected_grads[i], "gradient of a weight");
      }
    }
  }
}

TEST(RowOperationsTest, SumsAndTheirNormsEqualTorch) {
  for (const at::ScalarType type : kTypes) {
    const NormWeights weights = {.gain = Random({37}), .epsilon = 1e-5};
    const at::Tensor x = Random({70, 37});
    const at::Tensor y = Random({70, 37}, type);
    const at::Tensor wide_y = Wide(y);
    const at::Tensor expected_sum = x + wide_y;
    const at::Tensor expected = PlainNorm(expected_sum, weights);
    const SumAndNorm both = AddAndNormRows(x, y, weights, type);
    EXPECT_TRUE(at::equal(both.sum, expected_sum));
    ExpectNear(both.normed, expected, "norm of the sum");
    const auto grads = Gradients({both.normed, both.sum}, {x, y});
    const auto expected_grads = Gradients({expected, expected_sum}, {x, wide_y});
    ExpectNear(grads[0], expected_grads[0], "gradient of x");
    EXPECT_EQ(grads[1].scalar_type(), type);
    ExpectNear(grads[1], expected_grads[1], "gradient of y");
    // The last norm's sum is read by nobody.
    ExpectNear(Gradients({AddAndNormRows(x, y, weights, type).normed}, {y})[0],
               Gradients({PlainNorm(x + wide_y, weights)}, {wide_y})[0], "gradient by the norm");
  }
}

// Heads of width 6, two of queries and one of keys, at 5 positions of 3 rows.
at::Tensor PlainTurn(const at::Tensor& heads, const at::Tensor& turns) {
  const at::Tensor x = heads.view({3, 5, -1, 6});
  const at::Tensor angles = turns.view({1, 5, 1, 6});
  const auto halves = x.chunk(2, 3);
  const auto parts = angles.chunk(2, 3);
  const at::Tensor turned = at::cat(
      {halves[0] * parts[0] - halves[1] * parts[1], halves[1] * parts[0] + halves[0] * parts[1]},
      3);
  return turned.reshape({15, -1});
}

TEST(RowOperationsTest, JoinedHeadsEqualTorch) {
  const at::Tensor angles = torch::randn({5, 3});
  const at::Tensor turns = at::cat({angles.cos(), angles.sin()}, 1);
  for (const at::ScalarType type : kTypes) {
    // Norms of heads leave queries and keys in float32.
    const at::Tensor queries = Random({15, 12});
    const at::Tensor keys = Random({15, 6}, type);
    const at::Tensor values = Random({15, 6}, type);
    const at::Tensor wide_keys = Wide(keys);
    const at::Tensor wide_values = Wide(values);
    const at::Tensor joined = JoinHeads(queries, keys, values, turns);
    const at::Tensor expected =
        at::cat({PlainTurn(queries, turns), PlainTurn(wide_keys, turns), wide_values}, 1);
    ExpectNear(joined, expected, "joined");
    const auto grads = Gradients({joined}, {queries, keys, values});
    const auto expected_grads = Gradients({expected}, {queries, wide_keys, wide_values});
    for (std::size_t i = 0; i < grads.size(); ++i) {
      ExpectNear(grads[i], expected_grads[i], "gradient");
    }
    EXPECT_TRUE(at::equal(JoinHeads(queries, keys, values, c10::nullopt),
                          at::cat({queries, wide_keys, wide_values}, 1)));
  }
}

}  // namespace row_operations_test
}  // namespace submix::train

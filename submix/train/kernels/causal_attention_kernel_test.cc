#include "submix/train/kernels/causal_attention_kernel.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace submix::train {
namespace causal_attention_kernel_test {

std::vector<float> Normal(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(normal(generator));
  return values;
}

// What families do to scores.
struct Variant {
  float soft_cap = 0;
  std::int64_t window = 0;
};
constexpr Variant kVariants[] = {{}, {2, 0}, {0, 3}, {2, 7}};

// One head within rows of queries, keys and values of `kHeads` heads.
struct Problem {
  static constexpr std::int64_t kHeads = 2;

  Problem(std::int64_t num_positions, std::int64_t width, const Variant& kind)
      : positions(num_positions),
        head_width(width),
        variant(kind),
        qkv(Normal(positions * stride(), 1)) {}

  std::int64_t stride() const { return 3 * kHeads * head_width; }
  std::int64_t output_stride() const { return kHeads * head_width; }
  // The second head's part of `rows`: 0 queries, 1 keys, 2 values.
  float* Part(std::vector<float>& rows, std::int64_t part) const {
    return rows.data() + (part * kHeads + 1) * head_width;
  }
  CausalHead Head() {
    return {.q = Part(qkv, 0),
            .k = Part(qkv, 1),
            .v = Part(qkv, 2),
            .stride = stride(),
            .output_stride = output_stride(),
            .positions = positions,
            .head_width = head_width,
            .scale = scale(),
            .soft_cap = variant.soft_cap,
            .window = variant.window};
  }
  float scale() const { return 1 / std::sqrt(static_cast<float>(head_width)); }
  double Score(std::int64_t i, std::int64_t j) const {
    double dot = 0;
    for (std::int64_t c = 0; c < head_width; ++c) dot += At(0, i, c) * At(1, j, c);
    const double score = dot * scale();
    return variant.soft_cap > 0 ? variant.soft_cap * std::tanh(score / variant.soft_cap) : score;
  }
  bool Sees(std::int64_t i, std::int64_t j) const {
    return j <= i && (variant.window == 0 || i - j < variant.window);
  }
  double At(std::int64_t part, std::int64_t position, std::int64_t c) const {
    return qkv[static_cast<std::size_t>(position * stride() + (part * kHeads + 1) * head_width +
                                        c)];
  }

  std::int64_t positions;
  std::int64_t head_width;
  Variant variant;
  std::vector<float> qkv;
};

// By the definition, in double; [T, d].
std::vector<double> Definition(const Problem& p) {
  std::vector<double> output(static_cast<std::size_t>(p.positions * p.head_width));
  for (std::int64_t i = 0; i < p.positions; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
      weights.push_back(p.Sees(i, j) ? std::exp(p.Score(i, j)) : 0);
      total += weights.back();
    }
    for (std::int64_t j = 0; j <= i; ++j) {
      for (std::int64_t c = 0; c < p.head_width; ++c) {
        output[static_cast<std::size_t>(i * p.head_width + c)] +=
            weights[static_cast<std::size_t>(j)] / total * p.At(2, j, c);
      }
    }
  }
  return output;
}

struct Forward {
  std::vector<float> o;
  std::vector<float> log_sums;
};

Forward RunForward(Problem& p) {
  Forward result{std::vector<float>(static_cast<std::size_t>(p.positions * p.output_stride())),
                 std::vector<float>(static_cast<std::size_t>(p.positions))};
  std::vector<float> scratch(CausalForwardScratch(p.positions, p.head_width));
  CausalAttentionForward(p.Head(), result.o.data() + p.head_width, result.log_sums.data(),
                         scratch.data());
  return result;
}

TEST(CausalAttentionKernelTest, ForwardEqualsItsDefinition) {
  for (const Variant& variant : kVariants) {
    for (const std::int64_t width : {3, 16, 64, 80}) {
      for (const std::int64_t positions : {1, 2, 5, 32, 33, 70}) {
        Problem p(positions, width, variant);
        const std::vector<double> expected = Definition(p);
        const Forward actual = RunForward(p);
        for (std::int64_t i = 0; i < positions; ++i) {
          for (std::int64_t c = 0; c < width; ++c) {
            EXPECT_NEAR(actual.o[static_cast<std::size_t>(i * p.output_stride() + width + c)],
                        expected[static_cast<std::size_t>(i * width + c)], 2e-5);
          }
          // The other head's outputs are not touched.
          EXPECT_EQ(actual.o[static_cast<std::size_t>(i * p.output_stride())], 0);
        }
      }
    }
  }
}

// Of keys and values on top of what is there, as other queries of the same keys left it.
void ExpectFiniteDifferences(std::int64_t positions, std::int64_t width, const Variant& variant) {
  Problem p(positions, width, variant);
  const Forward forward = RunForward(p);
  std::vector<float> grad_o = Normal(positions * p.output_stride(), 2);
  std::vector<float> grads(p.qkv.size());
  std::vector<float> scratch(CausalBackwardScratch(positions, width));
  CausalHeadGrads where = {.o = forward.o.data() + width,
                           .log_sums = forward.log_sums.data(),
                           .grad_o = grad_o.data() + width,
                           .grad_q = p.Part(grads, 0),
                           .grad_k = p.Part(grads, 1),
                           .grad_v = p.Part(grads, 2)};
  CausalAttentionBackward(p.Head(), where, scratch.data());
  const std::vector<float> once = grads;
  where.adds_to_keys_and_values = true;
  CausalAttentionBackward(p.Head(), where, scratch.data());
  for (std::size_t i = 0; i < grads.size(); ++i) {
    const bool is_query = static_cast<std::int64_t>(i) % p.stride() < p.output_stride();
    ASSERT_EQ(grads[i], is_query ? once[i] : 2 * once[i]);
  }
  const auto loss = [&](const Problem& at) {
    const std::vector<double> o = Definition(at);
    double total = 0;
    for (std::int64_t i = 0; i < positions; ++i) {
      for (std::int64_t c = 0; c < width; ++c) {
        total += o[static_cast<std::size_t>(i * width + c)] *
                 grad_o[static_cast<std::size_t>(i * p.output_stride() + width + c)];
      }
    }
    return total;
  };
  for (std::size_t i = 0; i < p.qkv.size(); i += 1 + p.qkv.size() / 60) {
    Problem above = p;
    Problem below = p;
    above.qkv[i] += 1e-2f;
    below.qkv[i] -= 1e-2f;
    EXPECT_NEAR(once[i],
                (loss(above) - loss(below)) / (static_cast<double>(above.qkv[i]) - below.qkv[i]),
                2e-3)
        << width << " " << positions << " " << i;
  }
}

TEST(CausalAttentionKernelTest, BackwardEqualsFiniteDifferences) {
  for (const Variant& variant : kVariants) {
    for (const std::int64_t width : {3, 16, 64}) {
      for (const std::int64_t positions : {1, 6, 35}) {
        ExpectFiniteDifferences(positions, width, variant);
      }
    }
  }
}

}  // namespace causal_attention_kernel_test
}  // namespace submix::train

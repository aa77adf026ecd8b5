#include "submix/decode/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "submix/decode/testing/weight_at.h"
#include "submix/decode/weight_groups.h"
#include "submix/model/half_float.h"

namespace submix::decode {
namespace kernels_test {

// With the instruction set of the process: tests/processors runs these tests once for each.
class KernelsTest : public ::testing::Test {
 protected:
  std::vector<float> Random(std::size_t count, double deviation = 1) {
    std::normal_distribution<double> normal(0, deviation);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(normal(generator_));
    return values;
  }

  std::mt19937_64 generator_{1};
};

float Rounded(float value, float) { return value; }
float Rounded(float value, Bfloat16) {
  return model::FloatFromBfloat16(model::Bfloat16FromFloat(value));
}

// Rows of `width` numbers, as a cache holds them.
template <typename Stored>
std::vector<double> RoundedRows(const std::vector<float>& rows, std::size_t width) {
  std::vector<double> result;
  for (std::size_t begin = 0; begin < rows.size(); begin += width) {
    if constexpr (sizeof(Stored) == 1) {
      float most = 0;
      for (std::size_t i = 0; i < width; ++i) most = std::max(most, std::fabs(rows[begin + i]));
      for (std::size_t i = 0; i < width; ++i) {
        result.push_back(std::nearbyint(rows[begin + i] * (127 / most)) * (most / 127));
      }
    } else {
      for (std::size_t i = 0; i < width; ++i) {
        result.push_back(Rounded(rows[begin + i], Stored{}));
      }
    }
  }
  return result;
}

TEST_F(KernelsTest, NormalizeRowIsTheFormula) {
  for (const int count : {1, 15, 16, 53, 768}) {
    const auto size = static_cast<std::size_t>(count);
    const auto x = Random(size), gain = Random(size), shift = Random(size);
    std::vector<float> out(size);
    NormalizeRow(x.data(), gain.data(), shift.data(), 1e-5f, count, out.data());
    double mean = 0, variance = 0;
    for (const float v : x) mean += static_cast<double>(v) / count;
    for (const float v : x) variance += (v - mean) * (v - mean) / count;
    for (std::size_t i = 0; i < size; ++i) {
      const double expected = (x[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + shift[i];
      EXPECT_NEAR(out[i], expected, 1e-5 * (1 + std::abs(expected)));
    }
  }
}

TEST_F(KernelsTest, RmsNormalizeRowIsTheFormula) {
  for (const int count : {1, 16, 53, 768}) {
    const auto size = static_cast<std::size_t>(count);
    const auto x = Random(size), gain = Random(size);
    std::vector<float> out(size), in_place = x;
    RmsNormalizeRow(x.data(), gain.data(), 1e-5f, count, out.data());
    RmsNormalizeRow(in_place.data(), gain.data(), 1e-5f, count, in_place.data());
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v / count;
    for (std::size_t i = 0; i < size; ++i) {
      const double expected = x[i] / std::sqrt(squares + 1e-5) * gain[i];
      EXPECT_NEAR(out[i], expected, 1e-5 * (1 + std::abs(expected)));
      EXPECT_EQ(in_place[i], out[i]);
    }
  }
}

TEST_F(KernelsTest, GatesAndCapsAreTheFormulas) {
  for (const int count : {1, 16, 37}) {
    const auto size = static_cast<std::size_t>(count);
    const auto gate = Random(size, 3), up = Random(size);
    std::vector<float> gelu(size), silu(size), capped = gate;
    GeluGate(gate.data(), up.data(), count, gelu.data());
    SiluGate(gate.data(), up.data(), count, silu.data());
    SoftCapInPlace(capped.data(), 4, count);
    for (std::size_t i = 0; i < size; ++i) {
      const double v = gate[i];
      const double tanh_form =
          0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      EXPECT_NEAR(gelu[i], tanh_form * up[i], 1e-6 * (1 + std::abs(v * up[i])));
      EXPECT_NEAR(silu[i], v / (1 + std::exp(-v)) * up[i], 1e-6 * (1 + std::abs(v * up[i])));
      EXPECT_NEAR(capped[i], 4 * std::tanh(v / 4), 2e-6);
    }
  }
  // Far from zero nothing overflows.
  std::vector<float> far = {-1e30f, -200, 200, 1e30f}, ones(4, 1), out(4);
  SiluGate(far.data(), ones.data(), 4, out.data());
  EXPECT_THAT(out, ::testing::ElementsAre(::testing::FloatNear(0, 1e-7f),
                                          ::testing::FloatNear(0, 1e-7f), 200, 1e30f));
  SoftCapInPlace(far.data(), 30, 4);
  EXPECT_THAT(far, ::testing::Pointwise(::testing::FloatNear(1e-4f), {-30, -30, 30, 30}));
}

TEST_F(KernelsTest, RotateHeadTurnsPairsOfTheHalves) {
  for (const int width : {2, 24, 64}) {
    const auto half = static_cast<std::size_t>(width / 2);
    const auto head = Random(2 * half), angles = Random(half, 100);
    std::vector<float> turn(2 * half), turned = head;
    for (std::size_t i = 0; i < half; ++i) {
      turn[i] = std::cos(angles[i]);
      turn[half + i] = std::sin(angles[i]);
    }
    RotateHead(turned.data(), turn.data(), width);
    for (std::size_t i = 0; i < half; ++i) {
      EXPECT_NEAR(turned[i], head[i] * turn[i] - head[half + i] * turn[half + i], 1e-6);
      EXPECT_NEAR(turned[half + i], head[half + i] * turn[i] + head[i] * turn[half + i], 1e-6);
    }
  }
}

TEST_F(KernelsTest, GeluIsTheTanhForm) {
  for (const int count : {1, 16, 37}) {
    const auto x = Random(static_cast<std::size_t>(count), 3);
    auto y = x;
    GeluInPlace(y.data(), count);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = x[i];
      const double expected =
          0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      EXPECT_NEAR(y[i], expected, 1e-6 * (1 + std::abs(v)));
    }
  }
}

// A run of `count` numbers as pairs of vectors.
template <typename Stored>
std::vector<Stored> Pairs(const std::vector<float>& rows, int count) {
  const std::size_t stride = static_cast<std::size_t>(PairsFor(count)) * kPairLength;
  const std::size_t num_rows = rows.size() / static_cast<std::size_t>(count);
  std::vector<Stored> stored(num_rows * stride, ToStored<Stored>(0));
  for (std::size_t r = 0; r < num_rows; ++r) {
    for (int i = 0; i < count; ++i) {
      const std::size_t pair = static_cast<std::size_t>(i / kPairLength) * kPairLength;
      stored[r * stride + pair + PairIndex<Stored>(i % kPairLength / 16, i % 16)] =
          ToStored<Stored>(rows[r * static_cast<std::size_t>(count) + static_cast<std::size_t>(i)]);
    }
  }
  return stored;
}

template <typename Stored>
void ExpectLowRank(KernelsTest&, const std::vector<float>& x, const std::vector<float>& a,
                   const std::vector<float>& b, int rank, std::vector<float> y) {
  const auto inputs = static_cast<int>(x.size());
  const auto outputs = static_cast<int>(y.size());
  std::vector<double> expected(y.begin(), y.end());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rank); ++r) {
    double low = 0;
    for (std::size_t i = 0; i < x.size(); ++i) low += x[i] * Rounded(a[r * x.size() + i], Stored{});
    for (std::size_t n = 0; n < y.size(); ++n) {
      expected[n] += low * Rounded(b[r * y.size() + n], Stored{});
    }
  }
  std::vector<float> low(static_cast<std::size_t>(rank));
  LowRankDown(x.data(), Pairs<Stored>(a, inputs).data(), inputs, rank, low.data());
  const auto pairs = Pairs<Stored>(b, outputs);
  const auto stride = static_cast<std::size_t>(PairsFor(outputs)) * kPairLength;
  const std::vector<float> before = y;
  LowRankUp({low.data(), 0, y.data(), 0, 1}, pairs.data(), stride, rank, outputs);
  for (std::size_t n = 0; n < y.size(); ++n) EXPECT_NEAR(y[n], expected[n], 1e-3);
  // Of several rows each is as it would be alone, and what lies between them is left alone.
  constexpr std::size_t kRows = 7;
  const std::size_t apart = y.size() + 3;
  std::vector<float> lows, rows(kRows * apart, 5);
  for (std::size_t m = 0; m < kRows; ++m) {
    for (const float value : low) lows.push_back(m % 2 == 0 ? value : 0);
    std::ranges::copy(before, rows.begin() + static_cast<std::ptrdiff_t>(m * apart));
  }
  LowRankUp({lows.data(), low.size(), rows.data(), apart, kRows}, pairs.data(), stride, rank,
            outputs);
  for (std::size_t m = 0; m < kRows; ++m) {
    for (std::size_t n = 0; n < apart; ++n) {
      const float wanted = n >= y.size() ? 5 : m % 2 == 0 ? y[n] : before[n];
      EXPECT_EQ(rows[m * apart + n], wanted) << m << ' ' << n;
    }
  }
}

TEST_F(KernelsTest, LowRankProductsOfAnyShape) {
  for (const int rank : {1, 3, 8, 17}) {
    for (const auto& [inputs, outputs] : {std::pair(16, 48), std::pair(33, 5), std::pair(64, 95)}) {
      const auto in = static_cast<std::size_t>(inputs), out = static_cast<std::size_t>(outputs);
      const auto r = static_cast<std::size_t>(rank);
      const auto x = Random(in), a = Random(r * in), b = Random(r * out), y = Random(out);
      ExpectLowRank<float>(*this, x, a, b, rank, y);
      ExpectLowRank<Bfloat16>(*this, x, a, b, rank, y);
    }
  }
}

struct AttentionRule {
  int window = 0;
  int hidden = 0;
  float scale = 0.125f;
  float soft_cap = 0;
};

// Attention over pages of garbage beyond the sequence's end, against the definition.
template <typename Stored>
class PagedAttention {
 public:
  PagedAttention(int width, int tokens, const std::vector<float>& keys,
                 const std::vector<float>& values)
      : shape_{width, (width + 15) / 16 * 16}, width_(static_cast<std::size_t>(width)) {
    const int pages = (tokens + kPageTokens - 1) / kPageTokens;
    for (int page = 0; page < pages; ++page) {
      storage_.emplace_back(kOffset + shape_.bytes(sizeof(Stored)) / sizeof(Stored));
      // NaN in every kind of number, and of scale.
      std::memset(storage_.back().data(), 0xff, storage_.back().size() * sizeof(Stored));
    }
    for (auto& page : storage_) pages_.push_back(reinterpret_cast<std::byte*>(page.data()));
    for (int t = 0; t < tokens; ++t) {
      const std::size_t at = static_cast<std::size_t>(t) * width_;
      StoreKeyValue(shape_, keys.data() + at, values.data() + at, t % kPageTokens,
                    storage_[static_cast<std::size_t>(t / kPageTokens)].data() + kOffset);
    }
  }

  std::vector<float> Attend(const std::vector<float>& queries, int first_length,
                            const AttentionRule& rule, int tokens_a_query = 1) const {
    AttentionOperands<Stored> operands;
    operands.window = rule.window;
    operands.hidden = rule.hidden;
    operands.scale = rule.scale;
    operands.soft_cap = rule.soft_cap;
    operands.queries = queries.data();
    operands.query_stride = width_;
    operands.count = static_cast<int>(queries.size() / width_);
    operands.first_length = first_length;
    operands.tokens_a_query = tokens_a_query;
    operands.shape = shape_;
    operands.pages = pages_.data();
    operands.page_offset = kOffset * sizeof(Stored);
    std::vector<float> out(queries.size());
    operands.out = out.data();
    operands.out_stride = width_;
    std::vector<float> scratch(AttentionScratch(first_length + kMostQueries, shape_));
    operands.scratch = scratch.data();
    AttendToPages(operands);
    return out;
  }

 private:
  static constexpr std::size_t kOffset = 32;
  const HeadPage shape_;
  const std::size_t width_;
  std::vector<std::vector<Stored>> storage_;
  std::vector<const std::byte*> pages_;
};

std::vector<double> Expected(const std::vector<float>& query, const std::vector<double>& keys,
                             const std::vector<double>& values, int length,
                             const AttentionRule& rule) {
  const std::size_t width = query.size();
  std::vector<double> out(width, 0);
  double sum = 0;
  const int begin = std::max(rule.window > 0 ? std::max(0, length - rule.window) : 0,
                             std::min(rule.hidden, length - 1));
  for (auto t = static_cast<std::size_t>(begin); t < static_cast<std::size_t>(length); ++t) {
    double score = 0;
    for (std::size_t i = 0; i < width; ++i) {
      score += query[i] * keys[t * width + i];
    }
    score *= rule.scale;
    if (rule.soft_cap > 0) score = rule.soft_cap * std::tanh(score / rule.soft_cap);
    const double weight = std::exp(score);
    sum += weight;
    for (std::size_t i = 0; i < width; ++i) {
      out[i] += weight * values[t * width + i];
    }
  }
  for (double& value : out) value /= sum;
  return out;
}

template <typename Stored>
void ExpectAttention(const std::vector<float>& queries, const std::vector<float>& keys,
                     const std::vector<float>& values, int width, int first_length,
                     const AttentionRule& rule = {}) {
  const auto wide = static_cast<std::size_t>(width);
  const auto tokens = static_cast<int>(keys.size() / wide);
  const PagedAttention<Stored> attention(width, tokens, keys, values);
  const auto kept_keys = RoundedRows<Stored>(keys, wide),
             kept_values = RoundedRows<Stored>(values, wide);
  const std::vector<float> together = attention.Attend(queries, first_length, rule);
  const std::vector<float> of_one_token = attention.Attend(queries, first_length, rule, 0);
  for (std::size_t q = 0; q * wide < queries.size(); ++q) {
    const std::vector<float> query(queries.begin() + static_cast<std::ptrdiff_t>(q * wide),
                                   queries.begin() + static_cast<std::ptrdiff_t>((q + 1) * wide));
    const int length = first_length + static_cast<int>(q);
    const auto expected = Expected(query, kept_keys, kept_values, length, rule);
    // The same bits alone as together with its neighbours.
    const std::vector<float> alone = attention.Attend(query, length, rule);
    const std::vector<float> earlier = attention.Attend(query, first_length, rule);
    for (std::size_t i = 0; i < wide; ++i) {
      EXPECT_NEAR(together[q * wide + i], expected[i], 1e-5);
      EXPECT_EQ(together[q * wide + i], alone[i]);
      EXPECT_EQ(of_one_token[q * wide + i], earlier[i]);
    }
  }
}

TEST_F(KernelsTest, AttentionIsTheDefinition) {
  for (const int width : {8, 16, 43, 64, 80}) {
    for (const int length : {1, 15, 16, 17, 64, 200}) {
      for (const int count : {1, 2, 3, 4}) {
        const auto wide = static_cast<std::size_t>(width);
        const auto tokens = static_cast<std::size_t>(length + count - 1);
        const auto queries = Random(static_cast<std::size_t>(count) * wide);
        const auto keys = Random(tokens * wide), values = Random(tokens * wide);
        ExpectAttention<float>(queries, keys, values, width, length);
        ExpectAttention<Bfloat16>(queries, keys, values, width, length);
        ExpectAttention<std::int8_t>(queries, keys, values, width, length);
      }
    }
  }
}

TEST_F(KernelsTest, AttentionWithAWindowACapAndHiddenTokensIsTheDefinition) {
  constexpr int kWidth = 24;
  for (const AttentionRule rule :
       {AttentionRule{.window = 16}, AttentionRule{.window = 33, .scale = 0.3f},
        AttentionRule{.window = 1}, AttentionRule{.soft_cap = 2},
        AttentionRule{.window = 20, .scale = 0.5f, .soft_cap = 5}, AttentionRule{.hidden = 5},
        AttentionRule{.hidden = 32, .scale = 2}, AttentionRule{.window = 20, .hidden = 33},
        AttentionRule{.hidden = 17, .soft_cap = 2}}) {
    for (const int length : {1, 16, 17, 33, 40, 200}) {
      for (const int count : {1, 2, 4}) {
        const auto tokens = static_cast<std::size_t>(length + count - 1);
        const auto queries = Random(static_cast<std::size_t>(count) * kWidth);
        const auto keys = Random(tokens * kWidth), values = Random(tokens * kWidth);
        ExpectAttention<float>(queries, keys, values, kWidth, length, rule);
        ExpectAttention<Bfloat16>(queries, keys, values, kWidth, length, rule);
        ExpectAttention<std::int8_t>(queries, keys, values, kWidth, length, rule);
      }
    }
  }
}

// The bound of kernels.h, with numbers of very different sizes: keys and values of one large number
// each.
TEST_F(KernelsTest, ACacheInBytesKeepsItsBound) {
  constexpr std::size_t kWidth = 64;
  constexpr int kTokens = 200;
  constexpr float kScale = 0.125f;
  for (const float outlier : {1.0f, 4.0f, 30.0f}) {
    const auto queries = Random(kWidth);
    auto keys = Random(kTokens * kWidth), values = Random(kTokens * kWidth);
    for (std::size_t t = 0; t < kTokens; ++t) {
      keys[t * kWidth + t % kWidth] *= outlier;
      values[t * kWidth + (t + 5) % kWidth] *= outlier;
    }
    const PagedAttention<std::int8_t> attention(kWidth, kTokens, keys, values);
    const auto found = attention.Attend(queries, kTokens, {.scale = kScale});
    const auto exact = Expected(queries, RoundedRows<float>(keys, kWidth),
                                RoundedRows<float>(values, kWidth), kTokens, {.scale = kScale});
    const auto most = [](const std::vector<float>& x) {
      return std::fabs(*std::ranges::max_element(x, {}, [](float y) { return std::fabs(y); }));
    };
    double sum = 0;
    for (const float q : queries) sum += std::fabs(q);
    const double score_error = kScale * most(keys) * sum / 254;
    const double bound = most(values) * (std::expm1(2 * score_error) + 1.0 / 254) + 1e-5;
    double largest = 0;
    for (std::size_t i = 0; i < kWidth; ++i) {
      largest = std::max(largest, std::fabs(found[i] - exact[i]));
    }
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0);
  }
}

// As with other numbers, attention to what is not finite gives nothing that is.
TEST_F(KernelsTest, ACacheInBytesHidesNoNumberThatIsNotFinite) {
  constexpr std::size_t kWidth = 32;
  for (const float wrong : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    for (const bool is_key : {false, true}) {
      const auto queries = Random(kWidth);
      auto keys = Random(20 * kWidth), values = Random(20 * kWidth);
      (is_key ? keys : values)[17 * kWidth + 3] = wrong;
      const PagedAttention<std::int8_t> attention(kWidth, 20, keys, values);
      for (const float x : attention.Attend(queries, 20, {})) EXPECT_FALSE(std::isfinite(x));
      for (const float x : attention.Attend(queries, 17, {})) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

// A token of zeros, and of numbers too small for a scale, weighs what zeros weigh.
TEST_F(KernelsTest, ACacheInBytesHoldsZeros) {
  constexpr std::size_t kWidth = 16;
  for (const float small : {0.0f, 1e-38f, 1e-42f}) {
    const std::vector<float> rows(2 * kWidth, small);
    const PagedAttention<std::int8_t> attention(kWidth, 2, rows, rows);
    for (const float x : attention.Attend(Random(kWidth), 2, {})) EXPECT_NEAR(x, 0, 1e-30);
  }
}

// Panels, and what each weight [inputs, columns] is in them.
template <typename Stored>
struct Panels {
  std::vector<Stored> packed;
  std::vector<float> weights;
};
template <typename Stored>
Panels<Stored> Pack(const std::vector<float>& weights, std::size_t inputs, std::size_t columns) {
  const auto panels = static_cast<std::size_t>(PairsFor(static_cast<int>(columns)));
  Panels<Stored> result;
  result.packed.assign(panels * inputs * kPanelColumns, ToStored<Stored>(0));
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::size_t n = 0; n < columns; ++n) {
      const std::size_t pair = (n / kPanelColumns * inputs + k) * kPanelColumns;
      const auto column = static_cast<int>(n % kPanelColumns);
      result.packed[pair + PairIndex<Stored>(column / 16, column % 16)] =
          ToStored<Stored>(weights[k * columns + n]);
      result.weights.push_back(Rounded(weights[k * columns + n], Stored{}));
    }
  }
  return result;
}
template <int kBits>
Panels<IntegerGroup<kBits>> PackGroups(const std::vector<float>& weights, std::size_t inputs,
                                       std::size_t columns) {
  const auto panels = static_cast<std::size_t>(PairsFor(static_cast<int>(columns)));
  const std::size_t groups = (inputs + kGroupInputs - 1) / kGroupInputs;
  Panels<IntegerGroup<kBits>> result{std::vector<IntegerGroup<kBits>>(panels * groups), weights};
  for (std::size_t n = 0; n < columns; ++n) {
    const auto column = static_cast<int>(n % kPanelColumns);
    for (std::size_t g = 0; g < groups; ++g) {
      IntegerGroup<kBits>& group = result.packed[n / kPanelColumns * groups + g];
      std::vector<float> values;
      for (std::size_t k = g * kGroupInputs; k < std::min(inputs, (g + 1) * kGroupInputs); ++k) {
        values.push_back(weights[k * columns + n]);
      }
      StoreColumn(std::span<const float>(values), column, group);
      for (std::size_t k = 0; k < values.size(); ++k) {
        result.weights[(g * kGroupInputs + k) * columns + n] =
            WeightAt(group, static_cast<int>(k), column);
      }
    }
  }
  return result;
}

// A product of any shape against the definition, each row bitwise as if it were alone.
template <typename Stored>
void ExpectPanels(const std::vector<float>& x, const Panels<Stored>& panels,
                  const std::vector<float>& bias, std::size_t rows, std::size_t inputs) {
  const std::size_t columns = bias.size();
  const auto multiply = [&](const float* first_row, std::size_t count, float* results) {
    PanelOperands<Stored> operands;
    operands.panels = panels.packed.data();
    operands.x = first_row;
    operands.x_stride = inputs;
    operands.rows = static_cast<int>(count);
    operands.inputs = static_cast<int>(inputs);
    operands.bias = bias.data();
    operands.results = results;
    operands.results_stride = columns;
    operands.columns = static_cast<int>(columns);
    MultiplyPanels(operands);
  };
  std::vector<float> together(rows * columns), alone(columns);
  multiply(x.data(), rows, together.data());
  for (std::size_t m = 0; m < rows; ++m) {
    multiply(x.data() + m * inputs, 1, alone.data());
    for (std::size_t n = 0; n < columns; ++n) {
      double expected = bias[n];
      for (std::size_t k = 0; k < inputs; ++k) {
        expected += static_cast<double>(x[m * inputs + k]) * panels.weights[k * columns + n];
      }
      ASSERT_NEAR(together[m * columns + n], expected, inputs > 100 ? 1e-3 : 1e-4);
      ASSERT_EQ(together[m * columns + n], alone[n]);
    }
  }
}

TEST_F(KernelsTest, PanelsOfAnyShape) {
  for (const std::size_t rows : {1, 2, 5, 12, 13, 17, 97, 200}) {
    for (const auto& [inputs, columns] :
         {std::pair(7, 5), std::pair(64, 96), std::pair(33, 50), std::pair(1100, 40)}) {
      const auto k = static_cast<std::size_t>(inputs), n = static_cast<std::size_t>(columns);
      const auto x = Random(rows * k), weights = Random(k * n), bias = Random(n);
      ExpectPanels(x, Pack<float>(weights, k, n), bias, rows, k);
      ExpectPanels(x, Pack<Bfloat16>(weights, k, n), bias, rows, k);
      ExpectPanels(x, PackGroups<8>(weights, k, n), bias, rows, k);
      ExpectPanels(x, PackGroups<4>(weights, k, n), bias, rows, k);
    }
  }
}

}  // namespace kernels_test
}  // namespace submix::decode

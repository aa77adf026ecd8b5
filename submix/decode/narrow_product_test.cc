#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "submix/base/worker_team.h"
#include "submix/decode/matrix_product.h"
#include "submix/decode/testing/packed_product.h"
#include "submix/decode/testing/weight_at.h"
#include "submix/decode/weight_groups.h"
#include "submix/model/half_float.h"

namespace submix::decode {
namespace narrow_product_test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A row or a column as int8 products see it; StoreActivations has its own test.
struct Quantised {
  std::vector<int> integers;
  float scale = 0;
};

Quantised Quantise(const std::vector<float>& values) {
  Quantised quantised;
  std::vector<std::int8_t> stored(
      ActivationRowBytes(ActivationFormat::kInt8, static_cast<int>(values.size())));
  StoreActivations(ActivationFormat::kInt8, values, reinterpret_cast<std::byte*>(stored.data()),
                   &quantised.scale);
  quantised.integers.assign(stored.begin(),
                            stored.begin() + static_cast<std::ptrdiff_t>(values.size()));
  return quantised;
}

std::vector<float> Row(const std::vector<float>& x, int m, int count) {
  const auto begin = x.begin() + m * count;
  return {begin, begin + count};
}

std::vector<float> Column(const Weight& weight, int n) {
  std::vector<float> column;
  for (int k = 0; k < weight.inputs; ++k) column.push_back(weight.at(k, n));
  return column;
}

// Integer sums are exact: every bit of the result is known.
std::vector<float> Int8Reference(const Weight& weight, const std::vector<float>& x,
                                 const float* bias) {
  std::vector<Quantised> columns;
  for (int n = 0; n < weight.outputs; ++n) columns.push_back(Quantise(Column(weight, n)));
  std::vector<float> results;
  for (std::size_t m = 0; m < x.size() / static_cast<std::size_t>(weight.inputs); ++m) {
    const Quantised row = Quantise(Row(x, static_cast<int>(m), weight.inputs));
    for (int n = 0; n < weight.outputs; ++n) {
      const Quantised& column = columns[static_cast<std::size_t>(n)];
      int sum = 0;
      for (std::size_t k = 0; k < row.integers.size(); ++k) {
        sum += row.integers[k] * column.integers[k];
      }
      const float product = static_cast<float>(sum) * (row.scale * column.scale);
      results.push_back(bias == nullptr ? product : product + bias[n]);
    }
  }
  return results;
}

// The sum of the rounded numbers in double, and what float32 sums in any order may be off.
void ExpectBfloat16Products(const Weight& weight, const std::vector<float>& x, const float* bias,
                            const std::vector<float>& results) {
  const auto rounded = [](float value) {
    return double{model::FloatFromBfloat16(model::Bfloat16FromFloat(value))};
  };
  std::size_t at = 0;
  for (int m = 0; m < static_cast<int>(x.size()) / weight.inputs; ++m) {
    for (int n = 0; n < weight.outputs; ++n, ++at) {
      double sum = bias == nullptr ? 0 : double{bias[n]};
      double magnitude = std::abs(sum);
      for (int k = 0; k < weight.inputs; ++k) {
        const double term =
            rounded(x[static_cast<std::size_t>(m * weight.inputs + k)]) * rounded(weight.at(k, n));
        sum += term;
        magnitude += std::abs(term);
      }
      const double tolerance = magnitude * (weight.inputs + 2) * 0x1p-24;
      ASSERT_NEAR(double{results[at]}, sum, tolerance) << m << ", " << n;
    }
  }
}

// What a column's integers of 4 bits say.
std::vector<float> WeightsOfGroups(const std::vector<float>& column) {
  std::vector<float> weights;
  for (std::size_t begin = 0; begin < column.size(); begin += kGroupInputs) {
    const auto count = std::min<std::size_t>(kGroupInputs, column.size() - begin);
    IntegerGroup<4> group = {};
    StoreColumn(std::span(column).subspan(begin, count), 0, group);
    for (std::size_t k = 0; k < count; ++k) {
      weights.push_back(WeightAt(group, static_cast<int>(k), 0));
    }
  }
  return weights;
}

// The groups' sums are exact; those of the groups are float32's.
void ExpectInt4Products(const Weight& weight, const std::vector<float>& x, const float* bias,
                        const std::vector<float>& results) {
  const auto rows = static_cast<int>(x.size()) / weight.inputs;
  std::vector<Quantised> quantised;
  for (int m = 0; m < rows; ++m) quantised.push_back(Quantise(Row(x, m, weight.inputs)));
  for (int n = 0; n < weight.outputs; ++n) {
    const std::vector<float> weights = WeightsOfGroups(Column(weight, n));
    for (int m = 0; m < rows; ++m) {
      const Quantised& row = quantised[static_cast<std::size_t>(m)];
      double sum = bias == nullptr ? 0 : double{bias[n]};
      double magnitude = std::abs(sum);
      for (std::size_t k = 0; k < weights.size(); ++k) {
        const double term = double{weights[k]} * row.integers[k] * row.scale;
        sum += term;
        magnitude += std::abs(term);
      }
      const double tolerance = magnitude * (weight.inputs / kGroupInputs + 4) * 0x1p-24;
      ASSERT_NEAR(double{results[static_cast<std::size_t>(m * weight.outputs + n)]}, sum, tolerance)
          << m << ", " << n;
    }
  }
}

// As bits: NaN equals itself, and 0 is not -0.
std::vector<std::uint32_t> Bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

PackedProduct Packed(Precision precision, const Weight& weight, int workers = 3,
                     std::byte filling = kUntouched) {
  return {MakeMatrixProduct(precision, weight.inputs, weight.outputs, workers), weight, filling};
}

class NarrowProductTest : public testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    const bool is_bfloat16 = GetParam() == Precision::kBfloat16;
    if (!(is_bfloat16 ? ProcessorMultipliesBfloat16() : ProcessorMultipliesInt8())) {
      GTEST_SKIP() << "no AVX-512 " << (is_bfloat16 ? "bf16" : "VNNI");
    }
  }

  static void ExpectProducts(const Weight& weight, const std::vector<float>& x, const float* bias,
                             const std::vector<float>& results) {
    if (GetParam() == Precision::kInt8) {
      EXPECT_EQ(Bits(results), Bits(Int8Reference(weight, x, bias)));
    } else if (GetParam() == Precision::kInt4) {
      ExpectInt4Products(weight, x, bias, results);
    } else {
      ExpectBfloat16Products(weight, x, bias, results);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Precisions, NarrowProductTest,
                         testing::Values(Precision::kInt4, Precision::kInt8, Precision::kBfloat16),
                         [](const auto& test) { return std::string(PrecisionName(test.param)); });

TEST_P(NarrowProductTest, IsTheProductForEveryShape) {
  constexpr std::array<std::array<int, 2>, 7> kShapes = {
      {{1, 1}, {3, 65}, {37, 29}, {64, 64}, {130, 200}, {259, 1031}, {1025, 70}}};
  for (const auto& [inputs, outputs] : kShapes) {
    SCOPED_TRACE(testing::Message() << inputs << " x " << outputs);
    const Weight weight = RandomWeight(inputs, outputs);
    const std::vector<float> bias = RandomFloats(outputs, 3);
    const PackedProduct packed = Packed(GetParam(), weight);
    for (const int rows : {1, 2, 17, 65}) {
      const std::vector<float> x = RandomFloats(rows * inputs, static_cast<unsigned>(rows));
      ExpectProducts(weight, x, bias.data(), packed.Multiply(x, bias.data()));
      ExpectProducts(weight, x, nullptr, packed.Multiply(x));
    }
  }
}

TEST_P(NarrowProductTest, IsTheProductForEveryNumberOfRows) {
  const Weight weight = RandomWeight(70, 40);
  const PackedProduct packed = Packed(GetParam(), weight);
  const std::vector<float> bias = RandomFloats(40, 3);
  std::vector<int> numbers = {160, 161, 193, 256, 300};
  for (int rows = 1; rows <= 130; ++rows) numbers.push_back(rows);
  for (const int rows : numbers) {
    SCOPED_TRACE(rows);
    const std::vector<float> x = RandomFloats(rows * 70, static_cast<unsigned>(rows));
    ExpectProducts(weight, x, bias.data(), packed.Multiply(x, bias.data()));
  }
}

TEST_P(NarrowProductTest, ReadsEveryKindOfFile) {
  for (const model::Dtype dtype : {model::Dtype::kF32, model::Dtype::kF16, model::Dtype::kBf16}) {
    for (const bool is_output_by_input : {false, true}) {
      const Weight weight = RandomWeight(101, 203, {dtype, is_output_by_input});
      const std::vector<float> x = RandomFloats(5 * 101, 4);
      ExpectProducts(weight, x, nullptr, Packed(GetParam(), weight).Multiply(x));
    }
  }
}

// Integers at the ends of their range: what adds up pairs in 16 bits would saturate.
TEST_P(NarrowProductTest, LargeNumbersOfOneSignAddUp) {
  // Every sum of bfloat16 is below 2^24, so exact in any order.
  const int inputs = GetParam() == Precision::kBfloat16 ? 1024 : 3072;
  const auto size = static_cast<std::size_t>(inputs);
  const Weight weight = MakeWeight(inputs, 66, std::vector<float>(size * 66, 127.0f));
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> x(17 * size, sign * 127);
    const std::vector<float> results = Packed(GetParam(), weight).Multiply(x);
    ExpectProducts(weight, x, nullptr, results);
    if (GetParam() == Precision::kInt4) continue;  // its scales round
    for (const float result : results) {
      EXPECT_EQ(result, sign * 127 * 127 * static_cast<float>(inputs));
    }
  }
}

class NarrowInt8ProductTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ProcessorMultipliesInt8()) GTEST_SKIP() << "no AVX-512 VNNI";
  }
};

// How far from the weights themselves int8 may be: half a step of every factor.
TEST_F(NarrowInt8ProductTest, IsNearTheUnroundedProduct) {
  const Weight weight = RandomWeight(300, 90);
  const std::vector<float> x = RandomFloats(20 * 300, 4);
  const std::vector<float> results = Packed(Precision::kInt8, weight).Multiply(x);
  for (int m = 0; m < 20; ++m) {
    const double row_step = double{Quantise(Row(x, m, 300)).scale} / 2;
    for (int n = 0; n < 90; ++n) {
      const double column_step = double{Quantise(Column(weight, n)).scale} / 2;
      double sum = 0;
      double tolerance = 0;
      for (int k = 0; k < 300; ++k) {
        const double factor = x[static_cast<std::size_t>(m * 300 + k)];
        const double other = weight.at(k, n);
        sum += factor * other;
        tolerance +=
            std::abs(factor) * column_step + std::abs(other) * row_step + row_step * column_step;
      }
      const double result = results[static_cast<std::size_t>(m * 90 + n)];
      // Errors of both signs: far less than all of them added up.
      ASSERT_NEAR(result, sum, tolerance / 4);
    }
  }
}

TEST_P(NarrowProductTest, ARowsResultDoesNotDependOnTheNumberOfRows) {
  const Weight weight = RandomWeight(200, 1031);
  const PackedProduct packed = Packed(GetParam(), weight);
  const std::vector<float> x = RandomFloats(300 * 200, 4);
  const std::vector<float> all = packed.Multiply(x);
  for (const int rows : {1, 2, 16, 17, 64, 65, 130, 299}) {
    const std::vector<float> some = packed.Multiply({x.begin(), x.begin() + rows * 200});
    EXPECT_EQ(Bits(some), Bits({all.begin(), all.begin() + rows * 1031})) << rows;
  }
}

TEST_P(NarrowProductTest, ARowsResultDoesNotDependOnOtherRowsValues) {
  const Weight weight = RandomWeight(200, 330);
  const PackedProduct packed = Packed(GetParam(), weight);
  for (const int rows : {2, 17, 64, 100}) {
    const std::vector<float> x = RandomFloats(rows * 200, 4);
    const std::vector<float> before = packed.Multiply(x);
    for (const int kept : {0, rows / 2, rows - 1}) {
      std::vector<float> others = RandomFloats(rows * 200, 5);
      std::copy_n(x.begin() + kept * 200, 200, others.begin() + kept * 200);
      const std::vector<float> after = packed.Multiply(others);
      EXPECT_EQ(Bits(Row(after, kept, 330)), Bits(Row(before, kept, 330))) << rows << ", " << kept;
    }
  }
}

TEST_P(NarrowProductTest, ABrokenRowBreaksItselfAlone) {
  const Weight weight = RandomWeight(100, 140);
  const PackedProduct packed = Packed(GetParam(), weight);
  const std::vector<float> bias = RandomFloats(140, 3);
  for (const int rows : {1, 2, 17, 70}) {
    const std::vector<float> x = RandomFloats(rows * 100, 4);
    const std::vector<float> before = packed.Multiply(x, bias.data());
    for (const float broken : {kNan, kInfinity, -kInfinity}) {
      const int row = rows / 2;
      std::vector<float> with_broken = x;
      with_broken[static_cast<std::size_t>(row * 100 + 99)] = broken;
      const std::vector<float> after = packed.Multiply(with_broken, bias.data());
      for (int m = 0; m < rows; ++m) {
        if (m == row) continue;
        EXPECT_EQ(Bits(Row(after, m, 140)), Bits(Row(before, m, 140))) << m;
      }
      for (const float result : Row(after, row, 140)) EXPECT_FALSE(std::isfinite(result));
    }
  }
}

TEST_P(NarrowProductTest, ABrokenWeightBreaksItsColumnAlone) {
  std::vector<float> values = RandomFloats(100 * 140, 7);
  const std::vector<float> x = RandomFloats(3 * 100, 4);
  const std::vector<float> before = Packed(GetParam(), MakeWeight(100, 140, values)).Multiply(x);
  values[5 * 140 + 70] = kInfinity;
  values[6 * 140 + 139] = kNan;
  const std::vector<float> after = Packed(GetParam(), MakeWeight(100, 140, values)).Multiply(x);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool is_broken = i % 140 == 70 || i % 140 == 139;
    if (is_broken) {
      EXPECT_FALSE(std::isfinite(after[i]));
    } else {
      EXPECT_EQ(after[i], before[i]);
    }
  }
}

TEST_P(NarrowProductTest, RowsAndColumnsOfZerosGiveTheBias) {
  std::vector<float> values = RandomFloats(100 * 140, 7);
  for (std::size_t k = 0; k < 100; ++k) values[k * 140 + 3] = 0;
  const PackedProduct packed = Packed(GetParam(), MakeWeight(100, 140, values));
  const std::vector<float> bias = RandomFloats(140, 3);
  std::vector<float> x = RandomFloats(4 * 100, 4);
  std::fill_n(x.begin() + 200, 100, 0.0f);
  const std::vector<float> results = packed.Multiply(x, bias.data());
  EXPECT_EQ(Row(results, 2, 140), bias);
  for (int m = 0; m < 4; ++m) EXPECT_EQ(results[static_cast<std::size_t>(m * 140 + 3)], bias[3]);
}

// A file that is mapped for reading.
TEST_P(NarrowProductTest, NeverWritesToThePackedWeight) {
  for (const int outputs : {64, 70}) {
    const Weight weight = RandomWeight(37, outputs);
    const PackedProduct packed = Packed(GetParam(), weight, 1);
    void* const mapped = mmap(nullptr, packed.bytes().size(), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    std::memcpy(mapped, packed.bytes().data(), packed.bytes().size());
    ASSERT_EQ(mprotect(mapped, packed.bytes().size(), PROT_READ), 0);
    const std::vector<float> x = RandomFloats(70 * 37, 4);
    EXPECT_EQ(packed.Multiply(x, nullptr, static_cast<const std::byte*>(mapped)),
              packed.Multiply(x));
    munmap(mapped, packed.bytes().size());
  }
}

TEST_P(NarrowProductTest, PackedBytesDependOnTheWeightAlone) {
  const Weight weight = RandomWeight(100, 1031);
  const PackedProduct one = Packed(GetParam(), weight, 3, std::byte{0x00});
  const PackedProduct other = Packed(GetParam(), weight, 3, std::byte{0xff});
  EXPECT_EQ(std::memcmp(one.bytes().data(), other.bytes().data(), one.bytes().size()), 0);
}

// Columns of zeros cost memory and time as others do. The shapes are those of Qwen2.5-0.5B and
// Llama-3.2-1B.
TEST_P(NarrowProductTest, PacksLittleBesideTheNumbers) {
  constexpr std::array<std::array<int, 2>, 6> kShapes = {
      {{896, 896}, {896, 1152}, {4864, 896}, {896, 9728}, {2048, 3072}, {8192, 2048}}};
  for (const auto& [inputs, outputs] : kShapes) {
    const std::size_t bits = GetParam() == Precision::kBfloat16 ? 16
                             : GetParam() == Precision::kInt8   ? 8
                                                                : 5;
    const std::size_t numbers =
        static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs) * bits / 8;
    for (const int workers : {1, 2, 3, 8, 64}) {
      EXPECT_LT(MakeMatrixProduct(GetParam(), inputs, outputs, workers)->packed_bytes(),
                numbers + numbers / 10)
          << inputs << " x " << outputs << ", " << workers << " workers";
    }
  }
}

TEST_P(NarrowProductTest, ThreadsMayHaveABlockEach) {
  const int rows = 40;
  const Weight weight = RandomWeight(200, 1031);
  const std::unique_ptr<MatrixProduct> product = MakeMatrixProduct(GetParam(), 200, 1031, 4);
  ASSERT_GE(product->num_blocks(), 4);
  AlignedBytes packed(product->packed_bytes());
  std::vector<float> results(rows * 1031, kUnwritten);
  const std::vector<float> x = RandomFloats(rows * 200, 4);
  const Activations activations = StoreRows(*product, x);
  base::WorkerTeam team(2);
  const auto in_two_threads = [&](const auto& work) {
    team.Run([&](int worker) {
      for (int i = worker; i < product->num_blocks(); i += 2) work(i);
    });
  };
  in_two_threads([&](int i) { product->Pack(i, weight.source, packed.data()); });
  for (int repeat = 0; repeat < 20; ++repeat) {
    in_two_threads([&](int i) {
      product->Multiply(i, {.packed = packed.data(),
                            .bias = nullptr,
                            .activations = activations.bytes.data(),
                            .scales = activations.scales.data(),
                            .rows = rows,
                            .results = results.data(),
                            .results_stride = 1031});
    });
  }
  EXPECT_EQ(Bits(results), Bits(Packed(GetParam(), weight, 4).Multiply(x)));
}

}  // namespace narrow_product_test
}  // namespace submix::decode

// What tests of products share: weights as files have them, and products called as decoding does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "submix/decode/matrix_product.h"
#include "submix/model/half_float.h"

namespace submix::decode {

inline constexpr auto kUntouched = std::byte{0x5a};
inline constexpr float kUnwritten = 12345;

// 64-byte aligned, with a margin that nobody may write to.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size, std::byte filling = kUntouched)
      : size_(size), lines_(size / sizeof(Line) + 2) {
    std::memset(lines_.data(), static_cast<int>(filling), lines_.size() * sizeof(Line));
    std::memset(data() + size, static_cast<int>(kUntouched), sizeof(Line));
  }
  std::byte* data() { return lines_.data()->bytes; }
  const std::byte* data() const { return lines_.data()->bytes; }
  std::size_t size() const { return size_; }
  bool margin_is_untouched() const {
    return std::all_of(data() + size_, data() + size_ + sizeof(Line),
                       [](std::byte byte) { return byte == kUntouched; });
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::size_t size_;
  std::vector<Line> lines_;
};

inline std::vector<float> RandomFloats(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// A weight [inputs, outputs] as a file of this type has it.
struct Weight {
  int inputs = 0;
  int outputs = 0;
  std::vector<float> values;  // what the file's numbers are, exactly
  std::vector<std::byte> bytes;
  WeightSource source;

  float at(int input, int output) const {
    return values[static_cast<std::size_t>(input) * static_cast<std::size_t>(outputs) +
                  static_cast<std::size_t>(output)];
  }
};

struct WeightFile {
  model::Dtype dtype = model::Dtype::kF32;
  bool is_output_by_input = false;
};

inline float Rounded(float value, model::Dtype dtype) {
  switch (dtype) {
    case model::Dtype::kF32:
      return value;
    case model::Dtype::kF16:
      return model::FloatFromHalf(model::HalfFromFloat(value));
    case model::Dtype::kBf16:
      return model::FloatFromBfloat16(model::Bfloat16FromFloat(value));
    case model::Dtype::kOther:
      break;
  }
  return 0;
}

inline void Encode(float value, model::Dtype dtype, std::byte* out) {
  if (dtype == model::Dtype::kF32) {
    std::memcpy(out, &value, sizeof(value));
    return;
  }
  const std::uint16_t half =
      dtype == model::Dtype::kF16 ? model::HalfFromFloat(value) : model::Bfloat16FromFloat(value);
  std::memcpy(out, &half, sizeof(half));
}

inline Weight MakeWeight(int inputs, int outputs, std::vector<float> values, WeightFile file = {}) {
  Weight weight{inputs, outputs, std::move(values), {}, {}};
  const std::size_t element = model::DtypeBytes(file.dtype);
  weight.bytes.resize(weight.values.size() * element);
  for (int k = 0; k < inputs; ++k) {
    for (int n = 0; n < outputs; ++n) {
      float& value = weight.values[static_cast<std::size_t>(k * outputs + n)];
      value = Rounded(value, file.dtype);
      const int place = file.is_output_by_input ? n * inputs + k : k * outputs + n;
      Encode(value, file.dtype, weight.bytes.data() + static_cast<std::size_t>(place) * element);
    }
  }
  weight.source.is_output_by_input = file.is_output_by_input;
  model::TensorView& tensor = weight.source.tensors.emplace_back();
  tensor.dtype = file.dtype;
  tensor.shape = file.is_output_by_input ? std::vector<std::int64_t>{outputs, inputs}
                                         : std::vector<std::int64_t>{inputs, outputs};
  tensor.bytes = weight.bytes;
  return weight;
}

inline Weight RandomWeight(int inputs, int outputs, WeightFile file = {}) {
  return MakeWeight(inputs, outputs, RandomFloats(inputs * outputs, 7), file);
}

// A product with its packed weight, which checks that nothing is written beside its place.
class PackedProduct {
 public:
  PackedProduct(std::unique_ptr<MatrixProduct> product, const Weight& weight,
                std::byte filling = kUntouched)
      : product_(std::move(product)), packed_(product_->packed_bytes(), filling) {
    for (int i = 0; i < product_->num_blocks(); ++i) {
      product_->Pack(i, weight.source, packed_.data());
    }
    EXPECT_TRUE(packed_.margin_is_untouched());
    EXPECT_EQ(product_->packed_bytes() % 64, 0u);
  }

  // [rows, outputs]
  std::vector<float> Multiply(const std::vector<float>& x, const float* bias = nullptr) const {
    return Multiply(x, bias, packed_.data());
  }
  std::vector<float> Multiply(const std::vector<float>& x, const float* bias,
                              const std::byte* packed) const;

  const MatrixProduct& product() const { return *product_; }
  const AlignedBytes& bytes() const { return packed_; }

 private:
  std::unique_ptr<MatrixProduct> product_;
  AlignedBytes packed_;
};

// Rows as a product wants them.
struct Activations {
  AlignedBytes bytes;
  std::vector<float> scales;
};

inline Activations StoreRows(const MatrixProduct& product, const std::vector<float>& x) {
  const auto inputs = static_cast<std::size_t>(product.inputs());
  const std::size_t rows = x.size() / inputs;
  const std::size_t row_bytes = ActivationRowBytes(product.format(), product.inputs());
  Activations activations{AlignedBytes(rows * row_bytes), std::vector<float>(rows)};
  for (std::size_t m = 0; m < rows; ++m) {
    StoreActivations(product.format(), std::span(x).subspan(m * inputs, inputs),
                     activations.bytes.data() + m * row_bytes, &activations.scales[m]);
  }
  return activations;
}

inline std::vector<float> PackedProduct::Multiply(const std::vector<float>& x, const float* bias,
                                                  const std::byte* packed) const {
  const auto inputs = static_cast<std::size_t>(product_->inputs());
  const auto outputs = static_cast<std::size_t>(product_->outputs());
  const std::size_t rows = x.size() / inputs;
  const std::size_t stride = outputs + 3;
  const Activations activations = StoreRows(*product_, x);
  std::vector<float> strided(rows * stride, kUnwritten);
  const MatrixProduct::Operands operands{.packed = packed,
                                         .bias = bias,
                                         .activations = activations.bytes.data(),
                                         .scales = activations.scales.data(),
                                         .rows = static_cast<int>(rows),
                                         .results = strided.data(),
                                         .results_stride = stride};
  for (int i = 0; i < product_->num_blocks(); ++i) product_->Multiply(i, operands);
  EXPECT_TRUE(activations.bytes.margin_is_untouched());
  std::vector<float> results;
  for (std::size_t m = 0; m < rows; ++m) {
    const auto row = strided.begin() + static_cast<std::ptrdiff_t>(m * stride);
    results.insert(results.end(), row, row + static_cast<std::ptrdiff_t>(outputs));
    for (std::size_t i = outputs; i < stride; ++i) EXPECT_EQ(strided[m * stride + i], kUnwritten);
  }
  return results;
}

}  // namespace submix::decode

// Products of a few rows of activations with one large weight, packed once: the pass over the
// weights that decoding is made of. A product knows a shape and how to pack and multiply it; the
// packed weights lie elsewhere (packed_weights.h), so that they can be a mapped file.
//
// No value of one row has any influence on another row's result, bit for bit; nor has their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "submix/decode/kernels.h"
#include "submix/decode/precision.h"
#include "submix/model/safetensors.h"

namespace submix::decode {

// How a product reads its rows of activations; results are float32 always.
enum class ActivationFormat {
  kFloat32,
  kBfloat16,
  kInt8,  // symmetric, one scale a row: x = scale * q, |q| <= 127
};

// Bytes of one row of `count` activations, a multiple of 64.
std::size_t ActivationRowBytes(ActivationFormat format, int count);
// Converts one row of floats. `scale` is written for kInt8 alone. A row with NaN or infinity gives
// results that are not finite.
void StoreActivations(ActivationFormat format, std::span<const float> row, std::byte* out,
                      float* scale);

// A weight as its file has it: one tensor [inputs, outputs], or tensors [some outputs, inputs], as
// torch.nn.Linear and embeddings have them, whose outputs follow each other.
struct WeightSource {
  std::vector<model::TensorView> tensors;
  bool is_output_by_input = false;
};

class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  ActivationFormat format() const { return format_; }

  // The outputs are computed in blocks of neighbouring columns, the unit of work of a thread.
  struct Columns {
    int begin = 0;
    int end = 0;
    int count() const { return end - begin; }
  };
  int num_blocks() const { return num_blocks_; }
  Columns block(int index) const;

  // Bytes of the packed weight, a multiple of 64. Packed weights are 64-byte aligned.
  virtual std::size_t packed_bytes() const = 0;
  // Writes one block's share of the packed weight. Thread-safe for different blocks.
  virtual void Pack(int block, const WeightSource& source, std::byte* packed) const = 0;

  struct Operands {
    const std::byte* packed = nullptr;
    const float* bias = nullptr;             // [outputs], or null
    const std::byte* activations = nullptr;  // [rows] of ActivationRowBytes(format, inputs)
    const float* scales = nullptr;           // [rows], for kInt8
    int rows = 0;
    float* results = nullptr;  // [rows, outputs], rows `results_stride` floats apart
    std::size_t results_stride = 0;
  };
  // results[:, columns of block] = activations * W + bias. Thread-safe for different blocks;
  // allocates nothing.
  virtual void Multiply(int block, const Operands& operands) const = 0;

 protected:
  // The outputs are cut into blocks of whole panels but for the last, of at most `most_columns`
  // (whole panels), and as many as keep the workers equally busy. Requires: inputs, outputs > 0.
  MatrixProduct(int inputs, int outputs, ActivationFormat format, int workers, int most_columns);

  // The share of the operands' results that has these columns.
  static void SetResults(Columns columns, const Operands& operands, ResultRows& rows);

  // These columns of the source, a row of [inputs] each. Requires: a source of this shape.
  std::vector<float> ReadColumns(const WeightSource& source, Columns columns) const;

 private:
  int inputs_;
  int outputs_;
  ActivationFormat format_;
  int block_columns_ = 0;
  int num_blocks_ = 0;
};

// The product of this precision on this processor: with activations as narrow as the weights (int8
// for kInt4) where the processor multiplies such numbers, else with float32 activations and weights
// widened in registers.
std::unique_ptr<MatrixProduct> MakeMatrixProduct(Precision precision, int inputs, int outputs,
                                                 int workers);

// bfloat16 x bfloat16, or int8 x int8 with a weight scale per output: the processor's own products
// (AVX-512 VNNI, AVX-512 bf16, AMX). Sums of int8 are exact. Requires: a processor that multiplies
// such numbers (precision.h).
std::unique_ptr<MatrixProduct> MakeNarrowProduct(Precision precision, int inputs, int outputs,
                                                 int workers);

}  // namespace submix::decode

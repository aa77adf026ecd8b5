#include "submix/decode/matrix_product.h"

#include <algorithm>

namespace submix::decode {
namespace {

int RoundUp(int value, int granule) { return (value + granule - 1) / granule * granule; }

}  // namespace

MatrixProduct::MatrixProduct(int inputs, int outputs, ActivationFormat format, int workers,
                             int granule, int most_columns)
    : inputs_(inputs), outputs_(outputs), format_(format) {
  // A multiple of the workers, so that none waits for another's last block.
  const int rounds = (outputs + workers * most_columns - 1) / (workers * most_columns);
  const int blocks = std::max(1, rounds * workers);
  block_columns_ = RoundUp((outputs + blocks - 1) / blocks, granule);
  num_blocks_ = (outputs + block_columns_ - 1) / block_columns_;
}

MatrixProduct::Columns MatrixProduct::block(int index) const {
  return {index * block_columns_, std::min(outputs_, (index + 1) * block_columns_)};
}

std::unique_ptr<MatrixProduct> MakeMatrixProduct(Precision precision, int inputs, int outputs,
                                                 int workers) {
  if ((precision == Precision::kInt8 && ProcessorMultipliesInt8()) ||
      (precision == Precision::kBfloat16 && ProcessorMultipliesBfloat16())) {
    return MakeDnnlProduct(precision, inputs, outputs, workers);
  }
  return MakePanelProduct(precision != Precision::kFloat32, inputs, outputs, workers);
}

}  // namespace submix::decode

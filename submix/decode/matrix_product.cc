#include "submix/decode/matrix_product.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "submix/base/check.h"
#include "submix/decode/kernels.h"
#include "submix/decode/narrow_kernels.h"
#include "submix/decode/weight_groups.h"

namespace submix::decode {
namespace {

// Keeps a block's panels in the second-level cache while many rows pass.
constexpr int kMostColumns = 1024;

// Writes the `columns` weights of `depth` inputs from number `first` on into one panel.
template <typename Stored>
void StorePanel(const std::vector<float>& weights, std::size_t first, int columns,
                std::size_t depth, Stored* panel) {
  for (int n = 0; n < columns; ++n) {
    const float* const column = weights.data() + (first + static_cast<std::size_t>(n)) * depth;
    for (std::size_t k = 0; k < depth; ++k) {
      panel[k * kPanelColumns + PairIndex<Stored>(n / 16, n % 16)] = ToStored<Stored>(column[k]);
    }
  }
}
template <int kBits>
void StorePanel(const std::vector<float>& weights, std::size_t first, int columns,
                std::size_t depth, IntegerGroup<kBits>* panel) {
  for (int n = 0; n < columns; ++n) {
    const auto column =
        std::span(weights).subspan((first + static_cast<std::size_t>(n)) * depth, depth);
    for (std::size_t k = 0; k < depth; k += kGroupInputs) {
      const std::size_t count = std::min<std::size_t>(kGroupInputs, depth - k);
      StoreColumn(column.subspan(k, count), n, panel[k / kGroupInputs]);
    }
  }
}

// Weights in panels of 32 columns, a pair of vectors an input, read once from front to back while a
// tile of rows stays in registers. Each result is one sum in the order of the inputs, whatever the
// number of rows. Activations are float32; of integers of 4 bits also int8.
template <typename Stored, ActivationFormat kFormat = ActivationFormat::kFloat32>
class PanelProduct final : public MatrixProduct {
 public:
  PanelProduct(int inputs, int outputs, int workers)
      : MatrixProduct(inputs, outputs, kFormat, workers, kMostColumns) {}

  std::size_t packed_bytes() const override {
    return PanelBytes<Stored>(inputs()) * static_cast<std::size_t>(PairsFor(outputs()));
  }

  void Pack(int index, const WeightSource& source, std::byte* packed) const override {
    const Columns columns = block(index);
    const std::vector<float> weights = ReadColumns(source, columns);
    for (int begin = columns.begin; begin < columns.end; begin += kPanelColumns) {
      std::byte* const panel = PanelOf(begin, packed);
      std::memset(panel, 0, PanelBytes<Stored>(inputs()));
      StorePanel(weights, static_cast<std::size_t>(begin - columns.begin),
                 std::min(kPanelColumns, columns.end - begin), static_cast<std::size_t>(inputs()),
                 reinterpret_cast<Stored*>(panel));
    }
  }

  void Multiply(int index, const Operands& operands) const override {
    const Columns columns = block(index);
    const auto* panels = reinterpret_cast<const Stored*>(PanelOf(columns.begin, operands.packed));
    const std::size_t row_bytes = ActivationRowBytes(format(), inputs());
    if constexpr (kFormat == ActivationFormat::kInt8) {
      GroupOperands rows;
      rows.groups = panels;
      rows.groups_a_panel = GroupsFor(inputs());
      rows.x = operands.activations;
      rows.x_stride = row_bytes;
      rows.x_scales = operands.scales;
      SetResults(columns, operands, rows);
      MultiplyGroups(rows);
    } else {
      PanelOperands<Stored> rows;
      rows.panels = panels;
      rows.x = reinterpret_cast<const float*>(operands.activations);
      rows.x_stride = row_bytes / sizeof(float);
      rows.inputs = inputs();
      SetResults(columns, operands, rows);
      MultiplyPanels(rows);
    }
  }

 private:
  // The panel that begins with this column.
  template <typename Byte>
  Byte* PanelOf(int column, Byte* packed) const {
    return packed + PanelBytes<Stored>(inputs()) * static_cast<std::size_t>(column / kPanelColumns);
  }
};

void CheckShape(const WeightSource& source, std::size_t elements) {
  std::size_t found = 0;
  for (const model::TensorView& tensor : source.tensors) {
    found += static_cast<std::size_t>(tensor.num_elements());
  }
  SUBMIX_CHECK(found == elements && (source.is_output_by_input || source.tensors.size() == 1),
               "the source has another shape than the product");
}

// Numbers of a tensor from its `first` on.
void Read(const model::TensorView& tensor, std::size_t first, std::span<float> out) {
  const std::size_t element = model::DtypeBytes(tensor.dtype);
  model::ConvertToFloat(tensor.dtype, tensor.bytes.subspan(first * element, out.size() * element),
                        out);
}

}  // namespace

MatrixProduct::MatrixProduct(int inputs, int outputs, ActivationFormat format, int workers,
                             int most_columns)
    : inputs_(inputs), outputs_(outputs), format_(format) {
  SUBMIX_CHECK(inputs > 0 && outputs > 0, "a product's shape");
  // A multiple of the workers, so that none waits for another's last block.
  const int at_once = workers * most_columns;
  const int blocks = (outputs + at_once - 1) / at_once * workers;
  block_columns_ = PairsFor((outputs + blocks - 1) / blocks) * kPanelColumns;
  num_blocks_ = (outputs + block_columns_ - 1) / block_columns_;
}

MatrixProduct::Columns MatrixProduct::block(int index) const {
  return {index * block_columns_, std::min(outputs_, (index + 1) * block_columns_)};
}

void MatrixProduct::SetResults(Columns columns, const Operands& operands, ResultRows& rows) {
  rows.rows = operands.rows;
  rows.bias = operands.bias == nullptr ? nullptr : operands.bias + columns.begin;
  rows.results = operands.results + columns.begin;
  rows.results_stride = operands.results_stride;
  rows.columns = columns.count();
}

std::vector<float> MatrixProduct::ReadColumns(const WeightSource& source, Columns columns) const {
  const auto depth = static_cast<std::size_t>(inputs_);
  const auto begin = static_cast<std::size_t>(columns.begin);
  const auto count = static_cast<std::size_t>(columns.count());
  CheckShape(source, depth * static_cast<std::size_t>(outputs_));
  std::vector<float> weights(count * depth);
  if (source.is_output_by_input) {
    std::size_t output = 0;  // of the tensor's first row
    for (const model::TensorView& tensor : source.tensors) {
      const std::size_t outputs = static_cast<std::size_t>(tensor.num_elements()) / depth;
      const std::size_t first = std::max(begin, output);
      const std::size_t last = std::min(begin + count, output + outputs);
      if (first < last) {
        Read(tensor, (first - output) * depth,
             std::span(weights).subspan((first - begin) * depth, (last - first) * depth));
      }
      output += outputs;
    }
    return weights;
  }
  std::vector<float> line(count);
  for (std::size_t k = 0; k < depth; ++k) {
    Read(source.tensors.front(), k * static_cast<std::size_t>(outputs_) + begin, line);
    for (std::size_t n = 0; n < count; ++n) weights[n * depth + k] = line[n];
  }
  return weights;
}

std::unique_ptr<MatrixProduct> MakeMatrixProduct(Precision precision, int inputs, int outputs,
                                                 int workers) {
  if ((precision == Precision::kInt8 && ProcessorMultipliesInt8()) ||
      (precision == Precision::kBfloat16 && ProcessorMultipliesBfloat16())) {
    return MakeNarrowProduct(precision, inputs, outputs, workers);
  }
  switch (precision) {
    case Precision::kFloat32:
      return std::make_unique<PanelProduct<float>>(inputs, outputs, workers);
    case Precision::kBfloat16:
      return std::make_unique<PanelProduct<Bfloat16>>(inputs, outputs, workers);
    case Precision::kInt8:
      return std::make_unique<PanelProduct<IntegerGroup<8>>>(inputs, outputs, workers);
    case Precision::kInt4:
      if (ProcessorMultipliesInt8()) {
        return std::make_unique<PanelProduct<IntegerGroup<4>, ActivationFormat::kInt8>>(
            inputs, outputs, workers);
      }
      return std::make_unique<PanelProduct<IntegerGroup<4>>>(inputs, outputs, workers);
  }
  SUBMIX_CHECK(false, "unknown precision");
}

}  // namespace submix::decode

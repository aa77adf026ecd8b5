// Products of bfloat16 or of bytes with weights and activations in the same words
// (narrow_kernels.h). A block's packed weight is its panels.
#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "submix/base/check.h"
#include "submix/base/instruction_sets.h"
#include "submix/decode/matrix_product.h"
#include "submix/decode/narrow_kernels.h"

namespace submix::decode {
namespace {

// Keeps a block's panels in the second-level cache while chunk after chunk of rows passes.
constexpr std::size_t kMostBlockBytes = 3 << 18;
// |sum| < 2^31 of bytes.
constexpr int kMostInputs = 1 << 17;

template <typename Sum>
constexpr ActivationFormat kFormat =
    std::is_integral_v<Sum> ? ActivationFormat::kInt8 : ActivationFormat::kBfloat16;

int MostColumns(std::size_t row_bytes) {
  const auto panels = static_cast<int>(kMostBlockBytes / (row_bytes * kPanelColumns));
  return std::max(panels, 1) * kPanelColumns;
}

// 128 times the sum of a column's bytes.
std::int32_t ExcessOf(std::span<const std::byte> column) {
  std::int32_t sum = 0;
  for (const std::byte value : column) sum += static_cast<std::int8_t>(value);
  return 128 * sum;
}

template <typename Sum>
class NarrowProduct final : public MatrixProduct {
 public:
  NarrowProduct(int inputs, int outputs, int workers)
      : MatrixProduct(inputs, outputs, kFormat<Sum>, workers,
                      MostColumns(ActivationRowBytes(kFormat<Sum>, inputs))),
        row_bytes_(ActivationRowBytes(kFormat<Sum>, inputs)),
        words_(static_cast<int>(row_bytes_ / sizeof(std::uint32_t))) {
    SUBMIX_CHECK(inputs <= kMostInputs, "a product's shape");
  }

  std::size_t packed_bytes() const override { return PanelBegin(outputs() + kPanelColumns - 1); }

  void Pack(int index, const WeightSource& source, std::byte* packed) const override {
    const Columns columns = block(index);
    const std::vector<float> weights = ReadColumns(source, columns);
    const auto depth = static_cast<std::size_t>(inputs());
    for (int column = columns.begin; column < columns.end; ++column) {
      const int place = column % kPanelColumns;
      std::byte* const panel = packed + PanelBegin(column);
      if (place == 0) std::memset(panel, 0, NarrowPanelBytes<Sum>(words_));
      const std::size_t first = static_cast<std::size_t>(column - columns.begin) * depth;
      PackColumn(std::span(weights).subspan(first, depth), place, panel);
    }
  }

  void Multiply(int index, const Operands& operands) const override {
    const Columns columns = block(index);
    NarrowOperands<Sum> narrow;
    narrow.panels = operands.packed + PanelBegin(columns.begin);
    narrow.x = operands.activations;
    narrow.x_stride = row_bytes_;
    if constexpr (std::is_integral_v<Sum>) narrow.x_scales = operands.scales;
    narrow.words = words_;
    SetResults(columns, operands, narrow);
    MultiplyNarrow(narrow);
  }

 private:
  // Of the panel that has this column.
  std::size_t PanelBegin(int column) const {
    return NarrowPanelBytes<Sum>(words_) * static_cast<std::size_t>(column / kPanelColumns);
  }

  // Column `place` of a panel, read as a row of activations is.
  void PackColumn(std::span<const float> weights, int place, std::byte* panel) const {
    std::vector<std::byte> column(row_bytes_);
    float scale = 0;
    StoreActivations(format(), weights, column.data(), &scale);
    constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
    for (std::size_t word = 0; word < row_bytes_ / kWordBytes; ++word) {
      std::memcpy(panel + (word * kPanelColumns + static_cast<std::size_t>(place)) * kWordBytes,
                  column.data() + word * kWordBytes, kWordBytes);
    }
    if constexpr (std::is_integral_v<Sum>) {
      auto* const columns =
          reinterpret_cast<ByteColumns*>(panel + row_bytes_ * std::size_t{kPanelColumns});
      columns->scales[place] = scale;
      columns->excess[place] = ExcessOf(column);
    }
  }

  const std::size_t row_bytes_;
  const int words_;  // of a row
};

}  // namespace

std::unique_ptr<MatrixProduct> MakeNarrowProduct(Precision precision, int inputs, int outputs,
                                                 int workers) {
  if (precision == Precision::kInt8) {
    SUBMIX_CHECK(ProcessorMultipliesInt8(), "no AVX-512 VNNI");
    return std::make_unique<NarrowProduct<std::int32_t>>(inputs, outputs, workers);
  }
  SUBMIX_CHECK(precision == Precision::kBfloat16 && ProcessorMultipliesBfloat16(),
               "no AVX-512 bf16");
  return std::make_unique<NarrowProduct<float>>(inputs, outputs, workers);
}

}  // namespace submix::decode
